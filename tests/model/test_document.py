"""Documents find members by one spelling of their keys and join them as they were written."""

from vmcp.model.document import Document

PLAIN = Document(((b'"a"', b"1"), (b'"b"', b"2"), (b'"a"', b"3")))
ESCAPED = Document(((b'"a"', b"1"), (b'"b"', b"2")), (b'"\\u0061"', b'"b"'))


def test_the_last_of_several_members_is_found() -> None:
    assert PLAIN.get(b'"a"') == b"3"
    assert PLAIN.get(b'"c"') is None


def test_a_member_is_replaced_in_its_place_and_a_new_one_comes_last() -> None:
    assert PLAIN.with_member(b'"a"', b"9").join() == b'{"a":9,"b":2,"a":9}'
    assert PLAIN.with_member(b'"c"', b"9").join() == b'{"a":1,"b":2,"a":3,"c":9}'


def test_a_removed_member_is_gone_wherever_it_stood() -> None:
    assert PLAIN.without(b'"a"').join() == b'{"b":2}'


def test_a_key_is_joined_as_it_was_written() -> None:
    assert ESCAPED.get(b'"a"') == b"1"
    assert ESCAPED.join() == b'{"\\u0061":1,"b":2}'
    assert ESCAPED.with_member(b'"a"', b"9").join() == b'{"\\u0061":9,"b":2}'
    assert ESCAPED.with_member(b'"c"', b"9").join() == b'{"\\u0061":1,"b":2,"c":9}'
    assert ESCAPED.without(b'"b"').join() == b'{"\\u0061":1}'
    assert ESCAPED.without(b'"a"').join() == b'{"b":2}'
