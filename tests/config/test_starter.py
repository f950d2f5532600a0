import re

from vmcp.config.parse import parse
from vmcp.config.starter import starter


def _switched_on(text: str) -> str:
    """Return a starter file in which every example is in force."""
    return re.sub(r"^( *)#(?! |$)", r"\1", text, flags=re.MULTILINE)


def test_the_starter_file_can_be_used_as_it_stands() -> None:
    config = parse(starter())

    assert [backend.name for backend in config.backends] == ["time"]


def test_the_examples_in_its_comments_work() -> None:
    config = parse(_switched_on(starter()))

    assert [backend.name for backend in config.backends] == ["time", "example"]
    assert config.outgoing_auth.backends["example"].bearer_token is not None
    assert config.aggregation.conflict_resolution_config.prefix_on_conflict
    assert config.passthrough_headers == ("X-Request-Id",)


def test_what_it_states_are_the_defaults() -> None:
    config, default = parse(starter()), parse("backends: []")

    assert config.model_copy(update={"backends": ()}) == default
