from vmcp.config.errors import ConfigError, ConfigInvalid


def test_all_errors_are_in_the_text() -> None:
    first = ConfigError(
        "a",
        "Is wrong.",
        found="x",
        allowed="y, z",
        suggestion="Did you mean 'y'?",
        line=3,
        column=1,
    )
    second = ConfigError("", "Is empty.")

    assert str(ConfigInvalid("vmcp.yaml", [first, second])).splitlines() == [
        "vmcp.yaml: 2 errors",
        "- a (line 3, column 1): Is wrong.",
        "    found: x",
        "    allowed: y, z",
        "    Did you mean 'y'?",
        "- the file: Is empty.",
    ]


def test_one_error_is_counted_as_one() -> None:
    assert str(ConfigInvalid("c", [ConfigError("a", "Is wrong.")])).startswith("c: 1 error\n")
