from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.metadata.image import partition_writer
from falkirk.metadata.image.partition import Partition
from falkirk.metadata.image.partition_writer import PartitionWriter
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.metadata_version import MetadataVersion

LEVELS = ["3.3-IV0", "3.7-IV0", "3.7-IV2", "4.0-IV1", "4.3-IV0"]
TOPICS = [b"a" * 16, b"b" * 16]
few = st.lists(st.sampled_from([0, 1, 2, 2**31 - 1]), max_size=3).map(tuple)
number = st.sampled_from([-1, 0, 1, 300, 2**31 - 1])


@st.composite
def partitions(draw):
    replicas = draw(st.one_of(few, st.just(tuple(range(126))), st.just(tuple(range(127))), st.just((7,) * 300)))
    directory = st.binary(min_size=16, max_size=16)
    directories = tuple(draw(st.lists(directory, min_size=2, max_size=2)) * len(replicas))[: len(replicas)]
    numbers = (draw(number), draw(number), draw(number))
    return Partition(
        replicas, directories, draw(few), *numbers, draw(st.sampled_from([0, 1])), *draw(st.tuples(*[few] * 4))
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("elr_enabled", [True, False])
@given(items=st.lists(partitions(), max_size=4))
def test_values_are_those_of_the_codec(level, elr_enabled, items):
    at = MetadataVersion.parse(level)
    writer = PartitionWriter(at, elr_enabled=elr_enabled)

    # Each one twice, so that what was learned is used.
    for turn in range(2):
        for partition_id, partition in enumerate(items):
            topic_id = TOPICS[turn]
            record, version = partition.to_record(topic_id, partition_id, at, elr_enabled=elr_enabled)
            assert writer.value(topic_id, partition_id, partition) == encode_metadata_record(record, version)


@pytest.mark.source
def test_what_is_kept_for_the_next_partitions_is_bounded(monkeypatch):
    monkeypatch.setattr(partition_writer, "_KEPT_MAX", 10)
    at = MetadataVersion.parse("4.3-IV0")
    writer = PartitionWriter(at, elr_enabled=True)
    for number_, brokers in enumerate(combinations(range(8), 3)):
        directories = tuple(bytes([broker]) * 16 for broker in brokers)
        partition = Partition(brokers, directories, brokers[:1], brokers[0], 1, 1, 1, brokers[1:], (), (), ())
        record, version = partition.to_record(TOPICS[0], number_, at, elr_enabled=True)
        assert writer.value(TOPICS[0], number_, partition) == encode_metadata_record(record, version)
    kept = [value for value in vars(writer).values() if isinstance(value, dict)]
    assert kept
    assert max(map(len, kept)) <= 10
