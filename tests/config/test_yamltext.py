from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmcp.config.yamltext import MAX_DEPTH, MalformedYaml, read


def test_scalars_have_the_types_of_yaml_1_2() -> None:
    text = """
    texts: [no, on, yes, y, 12:30, 2024-01-01, 1_000, "1", '', =, 1e]
    truths: [true, False]
    numbers: [0, -7, +7, 010, 0x1f, 0o17]
    floats: [1.5, 1e3, .5, -.inf]
    nothings: [null, ~, ]
    """

    assert read(text).value == {
        "texts": ["no", "on", "yes", "y", "12:30", "2024-01-01", "1_000", "1", "", "=", "1e"],
        "truths": [True, False],
        "numbers": [0, -7, 7, 10, 31, 15],
        "floats": [1.5, 1000.0, 0.5, float("-inf")],
        "nothings": [None, None],
    }


def test_an_alias_stands_for_what_it_names() -> None:
    assert read("a: &x {b: 1}\nc: *x").value == {"a": {"b": 1}, "c": {"b": 1}}


def test_a_tag_that_fits_decides_the_type() -> None:
    assert read("a: !!str 5\nb: !!int '5'").value == {"a": "5", "b": 5}


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("a: [1, 2", "expected ',' or ']'", 1, 9),
        ("a: 1\n  b: 2", "mapping values are not allowed", 2, 4),
        ("a:\n\t- 1", "cannot start any token", 2, 1),
        ("a: 1\n---\nb: 2", "more than one document", 2, 1),
        ("a: *s3cret", "names no anchor", 1, 4),
        ("a: [&s3cret 1, &s3cret 2]", "given twice", 1, 16),
        ("a: &x [*x]", "within what it names", 1, 8),
        ("a: &x {b: [*x]}", "within what it names", 1, 12),
        ("a: 1\nb: \x07", "character that YAML does not allow", 2, 4),
        ("%s3cret!\n---\na", "Is not YAML", 1, 8),
        ("a: !s3cret!x 1", "Is not YAML", 1, 4),
        ("a: " + "[" * MAX_DEPTH, "nested more than 32 deep", 1, 35),
        ("", "Is empty", None, None),
        ("# only a comment", "Is empty", None, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_tree_is_refused_with_its_place(
    text: str, message: str, line: int | None, column: int | None
) -> None:
    with pytest.raises(MalformedYaml) as caught:
        read(text)

    error = caught.value.error
    assert message in error.message
    assert (error.line, error.column) == (line, column)
    assert "s3cret" not in str(error)


@pytest.mark.parametrize(
    ("text", "path", "message", "line", "column"),
    [
        ("a: 1\na: 2", "a", "Is there twice.", 2, 1),
        ("a:\n  - b: {c: 1, c: 2}", "a[0].b.c", "Is there twice.", 2, 15),
        ("a: {x:s3cret, x:s3cret}", "a", "Holds a key twice.", 1, 15),
        ("a: {5: x}", "a", "Holds a key that is no text.", 1, 5),
        ("a: {true: x}", "a", "Holds a key that is no text.", 1, 5),
        ("a: {[1]: x}", "a", "Holds a key that is no text.", 1, 5),
        ("a: &x {b: 1}\nc:\n  <<: *x", "c", "Merge keys are no part of YAML 1.2.", 3, 3),
        ("a: !!binary aGk=", "a", "Has a tag of YAML that is not used here.", 1, 4),
        ("a: !mine {b: 1}", "a", "Has a tag of YAML that is not used here.", 1, 4),
        ("a: !!set {b}", "a", "Has a tag of YAML that is not used here.", 1, 4),
        ("a: !!python/object:os.system {}", "a", "Has a tag of YAML that is not used here.", 1, 4),
        ("a: !!int s3cret", "a", "Has a tag of YAML that does not fit its value.", 1, 4),
        ("a: !!bool s3cret", "a", "Has a tag of YAML that does not fit its value.", 1, 4),
        ("a: !!float s3cret", "a", "Has a tag of YAML that does not fit its value.", 1, 4),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_wrong_with_single_values_is_collected(
    text: str, path: str, message: str, line: int, column: int
) -> None:
    [error] = read(text).errors

    assert (error.path, error.message) == (path, message)
    assert (error.line, error.column) == (line, column)


def test_all_duplicates_are_told() -> None:
    errors = read("a: 1\na: 2\nb: {c: 1, c: 2}\na: 3").errors

    assert [(error.path, error.line) for error in errors] == [("a", 2), ("b.c", 3), ("a", 4)]


def test_aliases_that_multiply_are_refused_before_they_are_written_out() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]

    with pytest.raises(MalformedYaml, match="with its aliases"):
        read("\n".join(lines))


def test_aliases_that_nest_are_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 1000)]

    with pytest.raises(MalformedYaml, match="levels with its aliases"):
        read("\n".join(lines))


def test_too_many_values_are_refused() -> None:
    with pytest.raises(MalformedYaml, match="more than 50000 values"):
        read("- x\n" * 50_001)


def test_a_place_is_found_in_the_text() -> None:
    tree = read("a:\n  - b: 1\n    c: {d: 2}\n")

    assert tree.position(("a", 0, "c", "d")) == (3, 9)
    assert tree.position(("a", 0)) == (2, 5)
    assert tree.position(("a", 0, "missing", "x")) == (2, 5)
    assert tree.position(()) == (1, 1)


@given(st.text(alphabet=st.sampled_from("ab:- \n{}[],&*!'\"#|>%@`\t?\\~<0.="), max_size=60))
def test_any_text_is_a_tree_or_malformed(text: str) -> None:
    with suppress(MalformedYaml):
        assert read(text).position(("a", 0)) >= (1, 1)
