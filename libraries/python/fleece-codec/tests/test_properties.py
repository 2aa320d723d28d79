import json
import math

import pytest
from fleece_codec import Doc, FleeceError, dumps, from_json, loads

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=40
)


def same(one, other):
    """Equal, where a whole float may have become an int, as Fleece stores it."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


@hypothesis.given(VALUES)
def test_objects_come_back(value):
    assert same(loads(dumps(value)), value)


@hypothesis.given(VALUES)
def test_json_is_that_of_the_standard_library(value):
    text = json.dumps(value)
    assert from_json(text) == from_json(text.encode())
    assert same(loads(from_json(text)), json.loads(text))
    assert same(json.loads(Doc(dumps(value)).to_json()), value)
    assert same(json.loads(Doc(dumps(value)).to_json(indent=2)), value)


@hypothesis.given(VALUES)
def test_a_document_is_walked_like_the_object(value):
    def walk(lazy, plain):
        if isinstance(plain, (list, dict)):
            assert len(lazy) == len(plain)
            keys = plain if isinstance(plain, dict) else range(len(plain))
            for key in keys:
                walk(lazy[key], plain[key])
            if isinstance(plain, list):
                assert len(list(lazy)) == len(plain)
            else:
                assert dict(lazy.items()).keys() == plain.keys()
        else:
            assert same(lazy, plain)

    walk(Doc(dumps([value]))[0], value)


@hypothesis.given(st.binary(max_size=64))
def test_bytes_come_back(data):
    assert loads(dumps([data])) == [data]
    assert loads(dumps(bytearray(data))) == data


def use(data):
    """Reads all that a document has, if it is one."""
    try:
        doc = Doc(data)
    except FleeceError as error:
        assert error.offset is None or 0 <= error.offset <= len(data)
        return
    if doc.kind in ("array", "dict"):
        assert len(list(doc)) <= len(doc)
    for action in (doc.to_python, lambda: doc.to_json(max_bytes=1 << 16), doc.to_fleece):
        try:
            action()
        except FleeceError:
            pass
    repr(doc)
    assert isinstance(doc == doc, bool)


@hypothesis.given(st.binary(max_size=200))
def test_hostile_bytes_are_values_or_errors(data):
    use(data)


@hypothesis.given(VALUES, st.data())
def test_damaged_documents_are_values_or_errors(value, data):
    damaged = bytearray(dumps([value]))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    use(bytes(damaged))


def int_or_float(digits):
    """What Fleece stores: integers of 64 bits, and doubles beyond."""
    number = int(digits)
    return number if -(1 << 63) <= number < 1 << 64 else float(digits)


@hypothesis.example("20000000000000000001")
@hypothesis.example("-9223372036854775809")
@hypothesis.given(st.text() | st.from_regex(r"-?[0-9]{1,30}(\.[0-9]{1,5})?", fullmatch=True))
def test_hostile_json_is_a_value_or_an_error(text):
    try:
        expected = json.loads(
            text, parse_int=int_or_float, parse_constant=lambda name: hypothesis.reject()
        )
    except (ValueError, RecursionError):
        expected = None
    try:
        assert same(loads(from_json(text)), expected)
    except (FleeceError, UnicodeError):
        pass


def test_numbers_that_json_has_not():
    for number in (math.inf, -math.inf):
        assert loads(dumps(number)) == number
        with pytest.raises(FleeceError):
            Doc(dumps(number)).to_json()
    with pytest.raises(FleeceError) as raised:
        dumps(math.nan)
    assert raised.value.kind == "NotRepresentable"
