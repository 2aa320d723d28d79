import pickle
import threading

import fleece_codec
import pytest
from fleece_codec import Doc, FleeceError, Value, dumps, from_json

PEOPLE = {"people": [{"name": "Ada", "tags": [1, 2.5, None]}, {"name": "Zoë"}], "n": 2}


@pytest.fixture
def doc():
    return Doc(dumps(PEOPLE))


def test_items_are_reached_by_key_index_and_path(doc):
    assert doc["people"][1]["name"] == "Zoë"
    assert doc["people"][-2]["tags"][1] == 2.5
    assert doc.get("people[0].tags[2]", 7) is None
    assert doc.get("people[9]") is None
    assert doc.get("people[9]", 7) == 7
    with pytest.raises(KeyError, match="nobody"):
        doc["nobody"]
    for index in [2, -3, 1 << 40]:
        with pytest.raises(IndexError):
            doc["people"][index]


def test_collections_are_lazy_and_outlive_the_variable_of_the_document():
    people = Doc(dumps(PEOPLE))["people"]
    assert type(people) is Value
    assert people.kind == "array"
    assert (len(people), len(people[0])) == (2, 2)
    assert [person["name"] for person in people] == ["Ada", "Zoë"]
    assert people[0].to_python() == PEOPLE["people"][0]


def test_dicts_have_keys_pairs_and_membership(doc):
    assert sorted(doc) == sorted(doc.keys()) == ["n", "people"]
    assert dict(doc.items())["n"] == 2
    assert "n" in doc and "x" not in doc and 7 not in doc
    assert 2.5 in doc["people"][0]["tags"] and 9 not in doc["people"][0]["tags"]


def test_what_a_value_is_not_is_a_type_error(doc):
    for wrong in [
        lambda: doc[0],
        lambda: doc["people"]["name"],
        lambda: doc["people"].keys(),
        lambda: len(Doc(dumps(3))),
        lambda: iter(Doc(dumps(3))),
        lambda: dumps({1: 2}),
        lambda: dumps(object()),
        lambda: dumps({"a": {1, 2}}),
        lambda: Doc("text"),
    ]:
        with pytest.raises(TypeError):
            wrong()


def test_values_are_equal_by_meaning(doc):
    assert doc == Doc(from_json(doc.to_json()))
    assert Doc(dumps([2])) == Doc(dumps([2.0]))
    assert doc != Doc(dumps({})) and doc["people"] != PEOPLE["people"]


def test_documents_and_values_are_pickled(doc):
    again = pickle.loads(pickle.dumps(doc))
    assert type(again) is Doc and again.data == doc.data
    assert pickle.loads(pickle.dumps(doc["people"])) == doc["people"]


def test_values_are_written_into_other_documents(doc):
    assert Doc(dumps([doc["people"], 1])).to_python() == [PEOPLE["people"], 1]


def test_the_text_of_a_value_is_short(doc):
    assert repr(doc["people"][1]) == 'Value({"name":"Zoë"})'
    assert repr(Doc(dumps(["x" * 2000]))) == "Doc(array)"


def test_errors_name_their_place():
    with pytest.raises(FleeceError, match="line 2 column 4") as raised:
        from_json("[1,\n 2,]")
    error = raised.value
    assert (error.kind, error.offset, error.line, error.column) == ("Syntax", 7, 2, 4)
    with pytest.raises(FleeceError) as raised:
        Doc(bytes([0x60, 1, 0x80, 1, 0x80, 2]))
    assert (raised.value.kind, raised.value.offset, raised.value.line) == ("BadPointer", 2, None)
    with pytest.raises(FleeceError) as raised:
        Doc(dumps({})).get("a[")
    assert raised.value.kind == "BadPath"


def test_depth_cycles_and_numbers_have_limits():
    deep = []
    for _ in range(199):
        deep = [deep]
    assert fleece_codec.loads(dumps(deep)) == deep
    cycle = []
    cycle.append(cycle)
    too_large = [(cycle, ValueError), (1 << 64, OverflowError), ("\ud800", UnicodeError)]
    for too_much, error in too_large:
        with pytest.raises(error):
            dumps(too_much)
    with pytest.raises(FleeceError) as raised:
        fleece_codec.loads(from_json("[" * 300 + "]" * 300))
    assert raised.value.kind == "TooDeep"


def test_a_small_document_that_holds_very_much_is_refused():
    # Each array holds the one before it twice: 2 ** 40 items.
    data = bytes([0x60, 0x00])
    for _ in range(40):
        back = 2 if len(data) == 2 else 4
        data += bytes([0x60, 0x02, 0x80, back, 0x80, back + 1])
    doc = Doc(data + bytes([0x80, 0x03]))
    for expensive in [doc.to_python, lambda: doc.to_json(max_bytes=1 << 20)]:
        with pytest.raises(FleeceError) as raised:
            expensive()
        assert raised.value.kind == "TooLarge"


def test_threads_share_a_document(doc):
    seen = []

    def read():
        seen.extend(doc["people"][i % 2].to_json() for i in range(500))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 2000 and len(set(seen)) == 2
