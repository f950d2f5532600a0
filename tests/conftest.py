"""What all tests can ask for."""

pytest_plugins = ("tests.support.cluster.plugin",)
