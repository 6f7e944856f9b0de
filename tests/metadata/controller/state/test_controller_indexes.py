"""The indexes of a controller, kept by deltas through whatever happens to an image."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_histories import HistoryMaker
from metadata_images import acl, image_of, orders, partition

from falkirk import slices
from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.controller.state.partition_set import PartitionKey
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage
from falkirk.metadata.levels.lowering import replay
from falkirk.protocol.messages import RemoveAccessControlEntryRecord, RemoveTopicRecord

LEVELS = (7, 14, 21, 33)


def history(seed: int, batches: int) -> list[MetadataDelta]:
    """Return deltas that follow each other: batches of a log with lowerings, some of them replaced by a snapshot."""
    random = Random(seed)
    maker = HistoryMaker(random, 33, moves=LEVELS)
    image, deltas = EMPTY, []
    while batches > 0:
        delta = MetadataDelta(image)
        for _ in range(random.randint(1, 6)):
            batches -= 1
            for record, _ in maker.first_batch() if image is EMPTY else maker.batch():
                replay(delta, record)
            if image is EMPTY:
                break
        after = delta.apply(image.provenance)
        deltas.append(MetadataDelta.between(image, after) if random.random() < 0.2 else delta)
        image = after
    return deltas


def indexed(image: MetadataImage) -> tuple[object, ...]:
    """Search an image for what the indexes hold."""
    keys = {
        PartitionKey(topic.topic_id, number): partition for topic in image.topics for number, partition in topic.items()
    }
    brokers = range(-1, 6)
    return (
        [sorted(key for key, one in keys.items() if broker in one.isr) for broker in brokers],
        [sorted(key for key, one in keys.items() if broker in one.eligible_leader_replicas) for broker in brokers],
        [sum(one.leader == broker != -1 for one in keys.values()) for broker in brokers],
        sorted(key for key, one in keys.items() if one.leader == -1),
        sorted(key for key, one in keys.items() if one.replicas[:1] != (one.leader,)),
        sorted(key for key, one in keys.items() if one.adding_replicas or one.removing_replicas),
        {topic.name: topic.name if "." in topic.name or "_" in topic.name else None for topic in image.topics},
        dict(Counter(image.acls.acls.values())),
    )


def held(indexes: ControllerIndexes, image: MetadataImage) -> tuple[object, ...]:
    """Return the same from the indexes."""
    partitions, brokers = indexes.partitions, range(-1, 6)
    return (
        [sorted(partitions.in_sync(broker)) for broker in brokers],
        [sorted(partitions.eligible(broker)) for broker in brokers],
        [partitions.leaderships(broker) for broker in brokers],
        sorted(partitions.without_leader()),
        sorted(partitions.imbalanced()),
        sorted(partitions.reassigning()),
        {topic.name: indexes.colliding_names.colliding_with(topic.name) for topic in image.topics},
        dict(indexes.existing_acls._counts),
    )


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), batches=st.integers(1, 60))
def test_indexes_kept_by_deltas_are_those_of_the_image(seed, batches):
    indexes = ControllerIndexes()
    for delta in history(seed, batches):
        indexes = indexes.changed_by(delta)
        image = delta.apply(delta.image.provenance)
        assert held(indexes, image) == indexed(image)
        assert indexes == ControllerIndexes.of(image)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), batches=st.integers(1, 60), size=st.integers(1, 20))
def test_slices_of_many_deltas_lead_to_the_same_indexes(seed, batches, size):
    deltas = history(seed, batches)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "VISITS_PER_SLICE", size)
        work, count = ControllerIndexes().changed_in_slices(deltas), 0
        while True:
            try:
                next(work)
            except StopIteration as end:
                indexes = end.value
                break
            count += 1
    last = deltas[-1]
    assert indexes == ControllerIndexes.of(last.apply(last.image.provenance))
    changes = sum(len(topic.partitions) for delta in deltas if delta.topics for topic in delta.topics.changed.values())
    assert count >= changes // size, "a slice handles no more than it may"


def test_a_partition_that_is_gone_from_a_replaced_image_is_in_no_index():
    before = image_of(orders(), partition(0), partition(1, leader=-1, isr=()))
    after = image_of(orders(), partition(0))
    indexes = ControllerIndexes.of(before).changed_by(MetadataDelta.between(before, after))
    assert indexes == ControllerIndexes.of(after)
    assert not indexes.partitions.are_some_without_leader


def test_what_comes_and_goes_within_one_slice_leaves_nothing():
    created = MetadataDelta(EMPTY)
    for record in (orders(), partition(0), acl("h")):
        created.replay(record)
    removed = MetadataDelta(created.apply(EMPTY.provenance))
    removed.replay(RemoveTopicRecord(orders().topic_id))
    removed.replay(RemoveAccessControlEntryRecord(acl("h").id))
    with pytest.raises(StopIteration) as end:
        next(ControllerIndexes().changed_in_slices([created, removed]))
    assert end.value.value == ControllerIndexes()
