"""What all tests can ask for."""

from hypothesis import settings

pytest_plugins = ("tests.support.cluster.plugin",)

# Property tests are bounded by their number of examples, not by the clock of a busy machine.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
