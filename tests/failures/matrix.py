"""The failure matrix: what may go wrong with a backend, and what comes of it; docs/failures.md is made of it."""

from __future__ import annotations

from tests.failures.answering import CALLS, LISTS, STREAMS
from tests.failures.children import CHILDREN
from tests.failures.older import OLDER
from tests.failures.reaching import CONNECTION, GREETINGS, PROCESS

CASES = (*CONNECTION, *PROCESS, *GREETINGS, *LISTS, *CALLS, *STREAMS, *OLDER, *CHILDREN)
