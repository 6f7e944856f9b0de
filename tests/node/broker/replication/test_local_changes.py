"""What a change of the image means for one broker."""

from __future__ import annotations

from falkirk.metadata.image.partition import UNASSIGNED
from falkirk.metadata.image.topics import TopicsDelta, TopicsImage
from falkirk.node.broker.replication.local_changes import LocalChange, PendingChanges, has_moved, local_changes
from falkirk.protocol.messages import PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.slices import exhaust

TOPIC_ID = b"t" * 16
OTHER_ID = b"o" * 16
HERE = bytes(15) + b"\x09"


def an_image() -> TopicsImage:
    """Return topic t, of which broker 1 leads partition 0, follows 1 and has nothing of 2."""
    delta = TopicsDelta(TopicsImage())
    delta.replay_topic(TopicRecord("t", TOPIC_ID))
    for index, replicas in enumerate(((1, 2), (2, 1), (2, 3))):
        delta.replay_partition(partition(index, replicas))
    return delta.apply()


def partition(index: int, replicas: tuple[int, ...], topic_id: bytes = TOPIC_ID) -> PartitionRecord:
    return PartitionRecord(
        index, topic_id, replicas, replicas, (), (), replicas[0], 0, 0, 0, directories=(HERE,) * len(replicas)
    )


def changes(*records: PartitionChangeRecord, before: TopicsImage) -> list[LocalChange]:
    delta = TopicsDelta(before)
    for record in records:
        delta.replay_partition_change(record)
    return [change for change in local_changes(delta, 1) if change is not None]


def keys(changed: list[LocalChange]) -> list[int]:
    return [change.key.partition for change in changed]


def popped(pending: PendingChanges) -> list[LocalChange]:
    assert pending.read_some(100)
    return list(iter(pending.pop, None))


def test_only_the_replicas_of_this_broker_are_its_business():
    delta = exhaust(TopicsDelta.between_slices(TopicsImage(), an_image()))

    assert list(local_changes(delta, 1)) == [
        LocalChange(TopicIdPartition(TOPIC_ID, "t", 0), None),
        LocalChange(TopicIdPartition(TOPIC_ID, "t", 1), None),
        None,
    ]
    assert changes(PartitionChangeRecord(partition_id=2, topic_id=TOPIC_ID, leader=3), before=an_image()) == []


def test_a_replica_that_goes_elsewhere_is_changed_and_so_is_one_that_comes():
    image = an_image()

    news = changes(
        PartitionChangeRecord(partition_id=1, topic_id=TOPIC_ID, replicas=(2, 3), directories=(HERE, HERE)),
        PartitionChangeRecord(partition_id=2, topic_id=TOPIC_ID, replicas=(2, 1), directories=(HERE, UNASSIGNED)),
        before=image,
    )

    assert [(change.key.partition, change.before) for change in news] == [
        (1, image.partition("t", 1)),
        (2, image.partition("t", 2)),
    ]


def test_a_directory_moves_if_the_image_has_another_one_or_a_first_one():
    image = an_image()
    led, elsewhere = image.partition("t", 0), image.partition("t", 2)
    assert led is not None
    moved = led.changed_by(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, directories=(UNASSIGNED, HERE)))

    assert [has_moved(before, moved, 1) for before in (None, elsewhere, led, moved)] == [True, True, True, False]


def test_a_topic_that_is_made_anew_in_the_same_change_is_deleted_first():
    delta = TopicsDelta(an_image())
    delta.replay_remove(RemoveTopicRecord(TOPIC_ID))
    delta.replay_topic(TopicRecord("t", OTHER_ID))
    delta.replay_partition(partition(0, (1,), OTHER_ID))

    news = [change.key.topic_id for change in local_changes(delta, 1) if change is not None]

    assert news == [TOPIC_ID, TOPIC_ID, OTHER_ID]


def test_a_replica_waits_once_at_the_place_of_its_oldest_change():
    image = an_image()
    first, second = TopicsDelta(image), TopicsDelta(image)
    first.replay_partition_change(PartitionChangeRecord(partition_id=1, topic_id=TOPIC_ID, leader=1))
    second = TopicsDelta(first.apply())
    for index in (0, 1):
        second.replay_partition_change(PartitionChangeRecord(partition_id=index, topic_id=TOPIC_ID, leader=2))
    pending = PendingChanges(1)

    pending.add(first, 10)
    pending.add(second, 20)

    assert [(change.key.partition, change.before) for change in popped(pending)] == [
        (1, image.partition("t", 1)),
        (0, image.partition("t", 0)),
    ]


def test_all_is_applied_up_to_the_oldest_change_that_is_not():
    image = an_image()
    first = TopicsDelta(image)
    first.replay_partition_change(PartitionChangeRecord(partition_id=1, topic_id=TOPIC_ID, leader=1))
    second = TopicsDelta(first.apply())
    second.replay_partition_change(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=2))
    pending = PendingChanges(1)
    assert pending.start_offset is None
    offsets = []

    pending.add(first, 10)
    pending.add(second, 20)
    while pending:
        offsets.append(pending.start_offset)
        if pending.read_some(1):
            pending.pop()

    assert offsets == [10, 10, 10, 20]
    assert pending.start_offset is None


def test_until_a_change_is_read_it_may_be_of_any_replica():
    pending = PendingChanges(1)
    led, other = TopicIdPartition(TOPIC_ID, "t", 0), TopicIdPartition(OTHER_ID, "o", 0)

    pending.add_all(an_image())
    assert led in pending
    assert other in pending

    assert not pending.read_some(2)
    assert pending.read_some(2)
    assert led in pending
    assert other not in pending
    assert keys(popped(pending)) == [0, 1]
    assert led not in pending
