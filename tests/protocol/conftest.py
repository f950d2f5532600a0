"""Property tests are bounded by their number of examples, not by the clock of a busy machine."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
