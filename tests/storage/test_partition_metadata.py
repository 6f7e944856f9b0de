import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_files import STORAGE, label

from falkirk.storage.errors import CorruptFileError
from falkirk.storage.partition_metadata import (
    PartitionMetadata,
    format_partition_metadata,
    parse_partition_metadata,
)


@pytest.mark.parametrize("path", sorted(STORAGE.rglob("partition.metadata")), ids=label)
def test_partition_metadata_of_kafka_is_written_byte_for_byte(path):
    assert format_partition_metadata(parse_partition_metadata(path.read_bytes())) == path.read_bytes()


@given(st.binary(min_size=16, max_size=16).filter(any))
def test_topic_ids_are_read_as_they_are_written(topic_id):
    metadata = PartitionMetadata(topic_id=topic_id)
    assert parse_partition_metadata(format_partition_metadata(metadata)) == metadata


def test_a_last_line_with_its_end_is_read_as_well():
    data = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
    assert parse_partition_metadata(data + b"\n") == parse_partition_metadata(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "lines `version: N` and `topic_id: ID` were expected"),
        (b"version: 0\n", "lines"),
        (b"version: x\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", "lines"),
        (b"version: -1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", "version is -1, 0 was expected"),
        (b"version: 99999999999\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", "version is '99999999999', an int32 was expected"),
        (b"version: 0\ntopic_id: AAAA", "topic_id: 'AAAA' is not a uuid"),
        (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "topic_id is the zero id"),
    ],
)
def test_wrong_partition_metadata_is_named(data, reason):
    with pytest.raises(CorruptFileError, match=f"partition.metadata: {reason}"):
        parse_partition_metadata(data)
