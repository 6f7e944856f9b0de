"""What the active controller decides on, after records that change all of it at once."""

import pytest
from controllers import EPOCH, controller_of
from hypothesis import given
from hypothesis import strategies as st
from metadata_files import batch_of
from metadata_images import TOPIC_ID, image_of, orders, partition, random_image, topic_config

from falkirk.metadata.controller.state.partition_set import PartitionKey
from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.levels.feature_scrubbing import scrub_eligible_leader_replicas
from falkirk.metadata.levels.lowering import lowering_options
from falkirk.metadata.levels.writer import write_values
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.versions.metadata_version import MetadataVersion

ELR = "eligible.leader.replicas.version"


def state_of(controller):
    """Return all that is kept between two decisions."""
    state = controller.state
    return state.image, state.indexes


def from_snapshot(image, level, end_offset, now_ms):
    """Make a controller as KIP-1155 has it: from a snapshot written at the lower level."""
    values = [*write_values(image, lowering_options(MetadataVersion.of_level(level)))]
    return controller_of(MetadataLoader().load_snapshot([batch_of(values)], Provenance(end_offset, EPOCH, now_ms)))


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), levels=st.lists(st.integers(7, 33), min_size=2, max_size=2, unique=True).map(sorted))
def test_a_controller_that_lowers_the_level_is_as_one_that_was_made_from_the_snapshot(seed, levels):
    target, level = levels
    image = random_image(seed, level, batches=30)
    controller = controller_of(image)
    controller.replay([(FeatureLevelRecord("metadata.version", target), 0)], end_offset=500, now_ms=9)

    assert state_of(controller) == state_of(from_snapshot(image, target, 500, 9))
    assert controller.state.metadata_version.level == target


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
def test_with_what_is_scrubbed_before_and_what_comes_behind_in_the_same_batch_too(seed):
    image = random_image(seed, 33, batches=30)
    records = [
        *scrub_eligible_leader_replicas(image).records,
        (FeatureLevelRecord(ELR, 0), 0),
        (FeatureLevelRecord("metadata.version", 21), 0),
    ]
    whole, in_two = controller_of(image), controller_of(image)
    behind = [(topic_config("a", "b"), 0)]
    whole.replay(records + behind, end_offset=500, now_ms=9)
    in_two.replay(records, end_offset=499, now_ms=9)
    in_two.replay(behind, end_offset=500, now_ms=9)

    assert state_of(whole) == state_of(in_two)
    assert state_of(whole) == state_of(controller_of(whole.state.image))


def test_partitions_of_eligible_replicas_are_found_among_those_in_sync_after_a_lowering():
    stopped = partition(replicas=(1, 2), isr=(), leader=-1, eligible_leader_replicas=(2,))
    controller = controller_of(image_of(FeatureLevelRecord(ELR, 1), orders(), stopped))
    assert list(controller.state.partitions.eligible(2)) == [PartitionKey(TOPIC_ID, 0)]
    controller.replay([(FeatureLevelRecord("metadata.version", 21), 0)], end_offset=500, now_ms=9)

    assert list(controller.state.partitions.eligible(2)) == []
    assert list(controller.state.partitions.in_sync(2)) == [PartitionKey(TOPIC_ID, 0)]
    assert controller.state.partitions.are_some_without_leader
    assert not controller.features.is_elr_enabled
