"""The names of the fields in log lines: one name for one idea, the same in each module."""

from __future__ import annotations

BACKEND = "backend"
COUNT = "count"
ERA = "era"
METHOD = "method"
REASON = "reason"
REQUEST_ID = "request_id"
SECONDS = "seconds"
STATUS = "status"
VERSION = "version"
