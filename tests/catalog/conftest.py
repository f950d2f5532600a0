"""Property tests of this folder are bounded by the number of their examples, not by a clock."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
