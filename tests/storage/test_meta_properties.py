import pytest
from storage_files import STORAGE, label

from falkirk.protocol.uuid import uuid_text
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.meta_properties import (
    format_meta_properties,
    make_meta_properties,
    parse_meta_properties,
    with_directory_id,
)

FILES = sorted(STORAGE.rglob("meta.properties"))
REAL = STORAGE / "4.0.0/d0/meta.properties"


@pytest.mark.parametrize("path", FILES, ids=label)
def test_files_of_kafka_are_kept_byte_for_byte(path):
    assert format_meta_properties(parse_meta_properties(path.read_bytes())) == path.read_bytes()


def test_version_1_names_cluster_node_and_directory():
    meta = parse_meta_properties(REAL.read_bytes())
    assert (meta.version, meta.cluster_id, meta.node_id) == (1, "AZS6l89up7g8mFFL66SkWg", 1)
    assert uuid_text(meta.directory_id) == "1xPMxuOJEYhr9TqCSbA7gQ"


def test_version_0_names_the_broker():
    meta = parse_meta_properties(b"#\n#Mon\nbroker.id=7\nversion=0\ncluster.id=abc\n")
    assert (meta.version, meta.cluster_id, meta.node_id, meta.directory_id) == (0, "abc", 7, None)
    bare = parse_meta_properties(b"cluster.id=abc\n")
    assert (bare.version, bare.node_id) == (0, None)


def test_a_new_file_is_written_as_kafka_writes_it():
    meta = parse_meta_properties(REAL.read_bytes())
    made = make_meta_properties(
        cluster_id=meta.cluster_id, node_id=1, directory_id=meta.directory_id, now_ms=1_795_247_416_000
    )
    assert format_meta_properties(made) == REAL.read_bytes()
    assert parse_meta_properties(format_meta_properties(made)) == made


def test_unknown_keys_and_comments_survive_a_change():
    data = b"# mine\nversion=1\nodd.key = x\nnode.id=1\ncluster.id=abc\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n"
    meta = parse_meta_properties(data)
    assert format_meta_properties(with_directory_id(meta, None)) == data[: data.index(b"directory")]
    changed = with_directory_id(meta, bytes(15) + b"\2")
    assert format_meta_properties(changed) == data.replace(b"AQ\n", b"Ag\n")
    assert parse_meta_properties(format_meta_properties(changed)) == changed


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        (b"version=2\n", "version is 2, 0 or 1 was expected", 0),
        (b"#\nversion=x\n", "version is 'x', an int32 was expected", 2),
        (b"version=1\ncluster.id=c\n", "node.id is missing", 23),
        (b"version=1\nnode.id=3\n", "cluster.id is missing", 20),
        (b"version=1\ncluster.id=c\nnode.id=1_0\n", "node.id is '1_0'", 23),
        (b"version=0\nbroker.id=2147483648\n", "broker.id is '2147483648'", 10),
        (b"version=1\nnode.id=1\ncluster.id=c\ndirectory.id=short\n", "directory.id: 'short' is not a uuid", 33),
    ],
)
def test_what_is_wrong_is_named_with_its_line(data, reason, offset):
    with pytest.raises(CorruptFileError, match=f"meta.properties: {reason}") as caught:
        parse_meta_properties(data)
    assert caught.value.offset == offset
