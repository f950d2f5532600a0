"""`vmcp schema`."""

from __future__ import annotations

import json

from tests.cli.conftest import Vmcp
from vmcp.config.schema import json_schema


def test_the_schema_is_printed_whole(vmcp: Vmcp) -> None:
    ended = vmcp("schema")

    assert (ended.code, json.loads(ended.out)) == (0, json_schema())
