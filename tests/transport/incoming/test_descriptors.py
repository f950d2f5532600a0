"""The process may have as many files open as the system lets it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

from vmcp.transport.incoming import descriptors

ASKED = """
import json, resource
from vmcp.transport.incoming.descriptors import raised
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
print(json.dumps([raised(), raised(), resource.getrlimit(resource.RLIMIT_NOFILE)]))
"""


def test_the_limit_is_raised_to_the_hard_one() -> None:
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, check=True)

    assert json.loads(done.stdout) == [200, 200, [200, 200]]


def test_a_limit_that_is_high_stays() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    found = descriptors.raised()
    resource.setrlimit(resource.RLIMIT_NOFILE, before)

    assert found >= before[0] or found == 2**17
