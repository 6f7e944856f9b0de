import pytest
from hypothesis import given
from hypothesis import strategies as st
from raised import raised
from storage_files import STORAGE, label

from falkirk.storage.errors import CorruptFileError
from falkirk.storage.properties_file import (
    PropertiesFile,
    format_properties,
    format_property,
    java_properties_order,
    parse_properties,
)


@pytest.mark.parametrize("path", sorted(STORAGE.rglob("*.properties")), ids=label)
def test_files_of_kafka_are_kept_byte_for_byte(path):
    properties = parse_properties(path.read_bytes())
    assert format_properties(properties) == path.read_bytes()
    assert properties.as_dict()["node.id"].isdigit()


# What java.util.Properties makes of each.
JAVA_READS = [
    (b"a=b", {"a": "b"}),
    (b"a = b \n", {"a": "b "}),
    (b"  a : b\r\nc\td\rlast", {"a": "b", "c": "d", "last": ""}),
    (b"a=:b\n c== d", {"a": ":b", "c": "= d"}),
    (b"# comment\\\n! comment\n\n \t\n#\na=1", {"a": "1"}),
    (b"a=1,\\\n   2,\\\r\n\t3", {"a": "1,2,3"}),
    (b"a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
    (b"a=1\\\n\nb=2", {"a": "1", "b": "2"}),
    (b"a=1\\\n#no comment", {"a": "1#no comment"}),
    (b"a=1\\", {"a": "1"}),
    (b"\\\n#comment\na=1", {"a": "1"}),
    (b"\\", {"": ""}),
    (b"a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
    (b"a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
    (b"\\u0061=\\u20AC\\ud83d\\ude00", {"a": "€\U0001f600"}),
    (b"a=\xe4\x85", {"a": "\xe4\x85"}),
    (b"a=1\na=2", {"a": "2"}),
    (b"=x", {"": "x"}),
    (b"", {}),
]


@pytest.mark.parametrize(("data", "expected"), JAVA_READS)
def test_lines_are_read_as_java_reads_them(data, expected):
    properties = parse_properties(data)
    assert properties.as_dict() == expected
    assert format_properties(properties) == data


@pytest.mark.parametrize("data", [b"a=\\u12", b"a=\\u12g4", b"ok=1\na=\\u-123", b"\\u=1"])
def test_a_malformed_escape_is_named_with_its_line(data):
    with pytest.raises(CorruptFileError, match=r"server.properties: malformed \\u escape") as caught:
        parse_properties(data, file="server.properties")
    assert caught.value.offset == data.index(b"a" if b"a" in data else b"\\")


@given(key=st.text(max_size=10), value=st.text(max_size=10))
def test_a_property_is_read_as_it_was_written(key, value):
    assert parse_properties(format_property(key, value)).as_dict() == {key: value}


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("log.dirs", "/a b,/c", "log.dirs=/a b,/c"),
        ("a b", "  x ", "a\\ b=\\  x "),
        ("a=b:c#d!", "=:#!\\", "a\\=b\\:c\\#d\\!=\\=\\:\\#\\!\\\\"),
        ("t", "\t\n\r\f", "t=\\t\\n\\r\\f"),
        ("e", "€", "e=\\u20AC"),
    ],
)
def test_a_property_is_written_as_java_stores_it(key, value, line):
    assert format_property(key, value) == line.encode() + b"\n"


@given(st.binary(max_size=60), st.text(max_size=5))
def test_any_file_is_kept_and_can_be_changed(data, value):
    error = raised(CorruptFileError, lambda: parse_properties(data))
    if error is not None:
        assert b"u" in data[error.offset :]
        return
    properties = parse_properties(data)
    assert format_properties(properties) == data
    changed = parse_properties(format_properties(properties.with_property("node.id", value)))
    if not data.endswith(b"\\"):
        assert changed.as_dict() == {**properties.as_dict(), "node.id": value}
    assert properties.with_property("k", "v").without_property("k").get("k") is None


def test_a_change_stays_in_its_place():
    properties = parse_properties(b"# head\na=1\nb=2\na=3")
    assert format_properties(properties.with_property("a", "9")) == b"# head\na=1\nb=2\na=9\n"
    assert format_properties(properties.with_property("c", "4")) == b"# head\na=1\nb=2\na=3\nc=4\n"
    assert format_properties(properties.without_property("a")) == b"# head\nb=2\n"
    assert format_properties(PropertiesFile().with_property("c", "4")) == b"c=4\n"


def test_keys_stand_in_the_order_of_javas_hash_table():
    assert java_properties_order(["version", "cluster.id", "node.id", "directory.id"]) == [
        "node.id",
        "directory.id",
        "version",
        "cluster.id",
    ]
