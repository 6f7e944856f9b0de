import pytest

from falkirk.storage.partition_directory import (
    DirectoryState,
    PartitionDirectory,
    format_partition_directory,
    parse_partition_directory,
)

DIRECTORIES = [
    ("orders-0", PartitionDirectory(topic="orders", partition=0)),
    ("a.b-c-12", PartitionDirectory(topic="a.b-c", partition=12)),
    ("--1", PartitionDirectory(topic="-", partition=1)),
    ("__cluster_metadata-0", PartitionDirectory(topic="__cluster_metadata", partition=0)),
    (
        "vusi.masi-2.9da9c875b5c74c0ca0f0dd499393f0d7-delete",
        PartitionDirectory(
            topic="vusi.masi",
            partition=2,
            state=DirectoryState.DELETE,
            unique_id="9da9c875b5c74c0ca0f0dd499393f0d7",
        ),
    ),
    ("t-1.0f-future", PartitionDirectory(topic="t", partition=1, state=DirectoryState.FUTURE, unique_id="0f")),
    ("t-1.0f-stray", PartitionDirectory(topic="t", partition=1, state=DirectoryState.STRAY, unique_id="0f")),
    ("t-delete-3", PartitionDirectory(topic="t-delete", partition=3)),
]


@pytest.mark.parametrize(("name", "directory"), DIRECTORIES)
def test_names_of_directories_are_read_and_written(name, directory):
    assert parse_partition_directory(name) == directory
    assert format_partition_directory(directory) == name


@pytest.mark.parametrize(
    "name", ["", "data", "-0", "t-", "t-x", "t-1-delete", "t-1.-delete", "t-1.a.-stray", "t-9999999999", "t--delete"]
)
def test_other_names_are_none(name):
    assert parse_partition_directory(name) is None


def test_a_long_topic_is_cut_where_kafka_cuts_it():
    directory = PartitionDirectory(topic="x" * 249, partition=10, state=DirectoryState.DELETE, unique_id="0" * 32)
    name = format_partition_directory(directory)
    assert len(name) == 255
    assert name.endswith("x-10." + "0" * 32 + "-delete")
    future = PartitionDirectory(topic="x" * 249, partition=10, state=DirectoryState.FUTURE, unique_id="0" * 32)
    assert format_partition_directory(future).startswith("x" * 249 + "-10.")
