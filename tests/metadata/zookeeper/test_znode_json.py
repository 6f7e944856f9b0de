import pytest

from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.znode_json import read_object, read_version, shown, write_json


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "it is empty"),
        (b"\xff", "it is not UTF-8 (byte 0)"),
        (b'{"a":"\xc3"}', "it is not UTF-8 (byte 6)"),
        (b"\xef\xbb\xbf{}", "it is not JSON: Unexpected UTF-8 BOM (decode using utf-8-sig) (character 0)"),
        (b"{", "it is not JSON: Expecting property name enclosed in double quotes (character 1)"),
        (b"{} {}", "it is not JSON: Extra data (character 3)"),
        (b"[1]", "it is a list, not a JSON object"),
        (b"null", "it is null, not a JSON object"),
        (b'"' + b"a" * 80 + b'"', 'it is "' + "a" * 59 + "..., not a JSON object"),
        (b'{"a":NaN}', "it has a number that nothing can hold"),
        (b'{"a":' + b"1" * 5000 + b"}", "it has a number that nothing can hold"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"a":' * 100_000, "it is nested too deeply"),
        (b'{"a":1,"b":{"c":1,"d":1,"c":1}}', 'the key "c" is twice in one object'),
        (b'{"a\\nb":1,"a\\nb":1}', 'the key "a\\nb" is twice in one object'),
    ],
)
def test_what_is_not_a_json_object_is_named(data, fault):
    with pytest.raises(ZnodeError) as caught:
        read_object(data, "/features")
    assert (caught.value.path, caught.value.fault) == ("/features", fault)
    assert str(caught.value) == f"znode /features: {fault}"


@pytest.mark.parametrize("value", ["true", "1.0", "1e0", '"1"', "null", "[]", "{}", "0", "4", "1" * 400])
def test_a_number_is_a_whole_one_of_its_range(value):
    znode = read_object(f'{{"a":{value}}}'.encode(), "/x")
    with pytest.raises(ZnodeError, match=r"^znode /x: a is .{1,70}, not a whole number from 1 to 3$"):
        znode.number("a", 1, 3)


def test_a_key_that_is_asked_for_and_not_there_is_named():
    znode = read_object(b"{}", "/x")
    for question in (
        lambda: znode.number("a", 0, 1),
        lambda: znode.number_in_text("a"),
        lambda: znode.text("a"),
        lambda: znode.texts("a"),
        lambda: znode.parts("a", "part"),
        lambda: list(znode.named_parts("a", "part")),
        lambda: list(znode.named_texts("a")),
    ):
        with pytest.raises(ZnodeError, match=r"^znode /x: a is missing$"):
            question()


@pytest.mark.parametrize("value", ["12x", "", "-", "9" * 19, "1" * 5000, "٣", "1\n", " 1", "1_0"])
def test_a_number_in_text_has_digits_alone(value):
    with pytest.raises(ZnodeError, match="not a whole number as text"):
        read_object(write_json({"a": value}), "/x").number_in_text("a")


def test_a_part_is_named_by_what_it_is():
    znode = read_object(b'{"f":{"a b":{"c":0}, "d":{}, "e":1}, "l":[{}, 2], "t":["x", null]}', "/x")
    parts = znode.named_parts("f", "feature")
    with pytest.raises(ZnodeError, match=r'^znode /x: feature "a b": c is 0, not a whole number from 1 to 2$'):
        next(parts)[1].number("c", 1, 2)
    with pytest.raises(ZnodeError, match=r"^znode /x: feature d: c is missing$"):
        next(parts)[1].text("c")
    with pytest.raises(ZnodeError, match=r"^znode /x: f\.e is 1, not an object$"):
        next(parts)
    with pytest.raises(ZnodeError, match=r"^znode /x: l\[1\] is 2, not an object$"):
        znode.parts("l", "part")
    with pytest.raises(ZnodeError, match=r"^znode /x: t\[1\] is null, not a text$"):
        znode.texts("t")


@pytest.mark.parametrize("name", ["", "\\ud800", "a" * 40_000])
def test_a_name_must_fit_the_protocol(name):
    znode = read_object(f'{{"f":{{"{name}":{{}}}}}}'.encode(), "/x")
    with pytest.raises(ZnodeError, match=r"f has the name .*, not a text of 1 to 32767 bytes"):
        list(znode.named_parts("f", "feature"))


def test_half_a_pair_of_surrogates_is_no_text():
    with pytest.raises(ZnodeError, match=r'a is "\\ud800", not a text'):
        read_object(b'{"a":"\\ud800"}', "/x").text("a")


def test_an_unknown_schema_version_is_named_with_the_known_ones():
    with pytest.raises(ZnodeError, match=r"^znode /x: the schema version 7 is unknown \(known are 1 to 5\)$"):
        read_version(read_object(b'{"version":7}', "/x"), range(1, 6))


def test_what_is_shown_is_one_line():
    assert shown("a\nb\u2028\x85") == '"a\\nb\\u2028\\u0085"'
