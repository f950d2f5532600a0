import pytest

from tests.config.refusals import BOTH, refused
from vmcp.config.parse import parse


def aggregation(keys: str) -> str:
    return f"{BOTH}aggregation: {{{keys}}}"


def conflicts(resolution: str, keys: str) -> str:
    return aggregation(f"conflictResolution: {resolution}, conflictResolutionConfig: {{{keys}}}")


CONFIG = "aggregation.conflictResolutionConfig"


def test_the_defaults_put_a_prefix_before_every_name() -> None:
    settings = parse(BOTH).aggregation

    assert settings.conflict_resolution == "prefix"
    assert settings.conflict_resolution_config.prefix_format == "{workload}_"
    assert not settings.conflict_resolution_config.prefix_on_conflict
    assert settings.default_tool_visibility == "allow"
    assert (settings.max_name_length, settings.allow_dots) == (64, True)


@pytest.mark.parametrize("text", ["{workload}", "{workload}.", "x-{workload}__", "_{workload}"])
def test_a_prefix_format_holds_the_workload_once(text: str) -> None:
    config = parse(conflicts("prefix", f"prefixFormat: '{text}'"))

    assert config.aggregation.conflict_resolution_config.prefix_format == text


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        *(
            (
                conflicts("prefix", f"prefixFormat: '{text}'"),
                f"{CONFIG}.prefixFormat",
                "Is not a format for a prefix.",
            )
            for text in (
                "",
                "_",
                "{name}_",
                "{workload}{workload}",
                "{workload} ",
                "{workload}/",
                "{{workload}}",
                "{workload:>9}",
                "{workload",
            )
        ),
        (
            aggregation("conflictResolution: priority"),
            f"{CONFIG}.priorityOrder",
            "The resolution priority needs it.",
        ),
        (
            conflicts("priority", "priorityOrder: []"),
            f"{CONFIG}.priorityOrder",
            "The resolution priority needs it.",
        ),
        (
            conflicts("priority", "priorityOrder: [web, box, web]"),
            f"{CONFIG}.priorityOrder[2]",
            "Is there twice.",
        ),
        (
            conflicts("priority", "priorityOrder: [web], prefixOnConflict: true"),
            f"{CONFIG}.prefixOnConflict",
            "Has no effect with the resolution priority.",
        ),
        (
            conflicts("manual", "prefixOnConflict: true"),
            f"{CONFIG}.prefixOnConflict",
            "Has no effect with the resolution manual.",
        ),
        (
            aggregation("conflictResolution: prefixed"),
            "aggregation.conflictResolution",
            "Is none of the allowed values.",
        ),
        (
            aggregation("defaultToolVisibility: hide"),
            "aggregation.defaultToolVisibility",
            "Is none of the allowed values.",
        ),
        (aggregation("maxNameLength: 15"), "aggregation.maxNameLength", "Is out of range."),
        (aggregation("maxNameLength: 257"), "aggregation.maxNameLength", "Is out of range."),
        (aggregation("tools: [{filter: [a]}]"), "aggregation.tools[0].workload", "Is required."),
        (
            aggregation("tools: [{workload: web}, {workload: web}]"),
            "aggregation.tools[1].workload",
            "Is there twice.",
        ),
        (
            aggregation("tools: [{workload: web, filter: []}]"),
            "aggregation.tools[0].filter",
            "Names no tool.",
        ),
        (
            aggregation("tools: [{workload: web, filter: echo}]"),
            "aggregation.tools[0].filter",
            "Must be a list.",
        ),
        (
            aggregation("tools: [{workload: web, overrides: {a: {name: ''}}}]"),
            "aggregation.tools[0].overrides.a.name",
            "Is empty.",
        ),
        (
            aggregation(
                "tools: [{workload: web, overrides: {a b: {annotations: {readOnlyHint: 1}}}}]"
            ),
            'aggregation.tools[0].overrides["a b"].annotations.readOnlyHint',
            "Must be true or false.",
        ),
    ],
    ids=lambda value: str(value)[-50:],
)
def test_bad_rules_are_refused(text: str, path: str, message: str) -> None:
    [error] = refused(text)

    assert (error.path, error.message) == (path, message)


def test_backends_that_the_file_does_not_know_are_left_to_the_catalog() -> None:
    text = aggregation(
        "tools: [{workload: gone}], conflictResolutionConfig: {priorityOrder: [gone]}"
    )

    assert parse(text).aggregation.tools[0].workload == "gone"


def test_the_empty_text_is_a_description() -> None:
    text = aggregation("tools: [{workload: web, overrides: {a: {description: ''}}}]")

    assert parse(text).aggregation.tools[0].overrides["a"].description == ""
