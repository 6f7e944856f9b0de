import pytest
from hypothesis import given
from hypothesis import strategies as st

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
