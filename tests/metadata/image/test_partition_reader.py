import gc

import pytest

from falkirk import slices
from falkirk.metadata.image.partition import MIGRATING, Partition
from falkirk.metadata.image.partition_reader import PARTITION_FRAMES, PartitionReader
from falkirk.protocol.messages import PartitionRecord
from falkirk.protocol.metadata_record import encode_metadata_record

A, B = b"a" * 16, b"b" * 16


def record(number, topic_id=A, **fields):
    fields = {"replicas": (1, 2), "isr": (1,), "leader": 1, "leader_epoch": 300, "partition_epoch": 301} | fields
    return PartitionRecord(partition_id=number, topic_id=topic_id, **fields)


def values(*records, version=2):
    return [encode_metadata_record(item, version) for item in records]


def read(items, version=2, before=(), reader=None):
    partitions = list(before)
    end = (reader or PartitionReader()).read_run(items, 0, version, A, partitions)
    return end, partitions[len(before) :]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_run_gives_what_the_codec_gives(version):
    records = [record(number, isr=(2, 1)[: 1 + number % 2], leader_recovery_state=number % 2) for number in range(20)]
    if version:
        records = [record(0, directories=(A, B)), *records[1:]]
    if version == 2:
        records[3:5] = [record(3, eligible_leader_replicas=(2,), last_known_elr=(1,)), record(4, adding_replicas=(2,))]

    assert read(values(*records, version=version), version) == (20, [Partition.from_record(item) for item in records])


def test_frames_are_those_that_the_codec_writes():
    assert {values(record(0), version=version)[0][:3]: version for version in range(3)} == PARTITION_FRAMES


def test_equal_lists_are_one_object():
    _, (one, other, third) = read(
        values(record(0, directories=(A, B)), record(1, directories=(A, B)), record(2, isr=(1, 2)))
    )

    assert one.replicas is other.replicas is third.replicas is third.isr
    assert one.directories is other.directories
    assert one.leader_epoch is other.leader_epoch
    assert third.directories == (MIGRATING, MIGRATING)


@pytest.mark.parametrize(
    "other",
    [
        values(record(2, topic_id=B)),
        values(record(3)),
        values(record(1)),
        values(record(-1)),
        values(record(2), version=1),
        values(record(2, unknown_tagged_fields=((9, b""),))),
        values(record(2, directories=(A,))),
        values(record(2, leader_recovery_state=2)),
        [values(record(2))[0] + b"\0"],
        [values(record(2))[0][:-1]],
        [b""],
        [b"\x01\x03\x02"],
        [values(record(2))[0][:23] + b"\x80\x00" + values(record(2))[0][24:]],
    ],
    ids=[
        "another topic", "a gap", "a number again", "a negative number", "another version", "an unknown field",
        "too few directories", "an unknown state", "a byte too many", "a byte too few", "nothing", "a frame alone",
        "a count of two bytes",
    ],
)  # fmt: skip
def test_a_run_ends_before_what_it_is_not_sure_of(other):
    items = values(record(0), record(1)) + other + values(record(2))

    assert read(items)[0] == 2
    assert len(read(items)[1]) == 2


def test_a_run_goes_on_where_the_list_ends():
    end, partitions = read(values(record(1), record(2)), before=[Partition.from_record(record(0))])

    assert (end, len(partitions)) == (2, 2)


def test_long_lists_are_left_to_the_codec():
    # A count above 126 takes two bytes.
    assert read(values(record(0, replicas=tuple(range(130)))))[0] == 0
    assert read(values(record(0, replicas=tuple(range(126)))))[0] == 1


def test_pieces_that_are_kept_are_visited_by_no_collection_once_they_are_frozen():
    reader = PartitionReader()
    read(values(record(0)), reader=reader)
    gc.collect()
    gc.freeze()
    try:
        read(values(record(0, replicas=(7, 8))), reader=reader)
        assert not [each for each in gc.get_objects() if isinstance(each, dict) and (7, 8) in each]
    finally:
        gc.unfreeze()


def test_pieces_are_forgotten_in_slices(monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 10)
    reader = PartitionReader()
    read(values(*(record(number, replicas=(number,)) for number in range(50))), reader=reader)
    assert len(list(reader.forget_slices())) >= 10
    assert list(reader.forget_slices()) == []
