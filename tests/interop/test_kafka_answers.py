"""Comparing answers, without Kafka."""

from kafka_answers import MISSING, Difference, differences, facts


def test_equal_documents_have_no_differences() -> None:
    document = {"a": [1, {"b": None}], "c": "x"}
    assert differences(document, {"c": "x", "a": [1, {"b": None}]}) == []


def test_a_difference_is_the_smallest_one_and_tells_its_path() -> None:
    before = {"groups": {"g": {"state": "Empty", "offset": 5}, "gone": {}}}
    after = {"groups": {"g": {"state": "Empty", "offset": 6}, "new": 1}}
    assert differences(before, after) == [
        Difference(path=("groups", "g", "offset"), before=5, after=6),
        Difference(path=("groups", "gone"), before={}, after=MISSING),
        Difference(path=("groups", "new"), before=MISSING, after=1),
    ]


def test_plain_arrays_differ_by_their_items_and_by_their_order() -> None:
    assert differences(["a", "b"], ["b", "c"]) == [
        Difference(path=("a",), before="a", after=MISSING),
        Difference(path=("c",), before=MISSING, after="c"),
    ]
    assert differences([1, 2], [2, 1]) == [Difference(path=(), before=[1, 2], after=[2, 1])]
    assert len(differences([1, 1, 2], [1, 2, 2])) == 1


def test_arrays_of_objects_differ_by_position() -> None:
    assert differences([{"a": 1}], [{"a": 1}, {"a": 2}]) == [Difference(path=("1",), before=MISSING, after={"a": 2})]


def test_values_of_another_type_are_different() -> None:
    assert [str(one) for one in differences({"a": 1}, {"a": True})] == ["a: 1 -> True"]


def test_facts_are_the_single_values() -> None:
    assert facts({"a": [1, 2], "b": {"c": None}, "d": {}}) == 3
