"""What a change of the image means for one broker."""

from __future__ import annotations

from falkirk.metadata.image.partition import UNASSIGNED
from falkirk.metadata.image.slices import exhaust
from falkirk.metadata.image.topics import TopicsDelta, TopicsImage
from falkirk.node.broker.replication.local_changes import LocalChanges, local_changes
from falkirk.protocol.messages import PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from falkirk.protocol.topic_partition import TopicIdPartition

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


def keys(changed: list) -> list[int]:
    return [key.partition for key, *_ in changed]


def changes(*records: PartitionChangeRecord, before: TopicsImage) -> LocalChanges:
    delta = TopicsDelta(before)
    for record in records:
        delta.replay_partition_change(record)
    return local_changes(delta, 1)


def test_all_of_a_first_image_is_news():
    delta = exhaust(TopicsDelta.between_slices(TopicsImage(), an_image()))

    news = local_changes(delta, 1)

    assert (keys(news.led), keys(news.followed), news.deleted) == ([0], [1], [])
    assert [directory for _, directory in news.moved] == [HERE, HERE]


def test_a_leadership_that_moves_is_led_or_followed():
    image = an_image()

    news = changes(
        PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=2),
        PartitionChangeRecord(partition_id=1, topic_id=TOPIC_ID, leader=1),
        before=image,
    )

    assert (keys(news.led), keys(news.followed), news.moved, news.deleted) == ([1], [0], [], [])


def test_what_happens_to_replicas_elsewhere_is_none_of_its_business():
    news = changes(PartitionChangeRecord(partition_id=2, topic_id=TOPIC_ID, leader=3), before=an_image())

    assert news == LocalChanges()


def test_a_replica_that_goes_elsewhere_is_deleted_and_one_that_comes_is_news():
    news = changes(
        PartitionChangeRecord(partition_id=1, topic_id=TOPIC_ID, replicas=(2, 3), directories=(HERE, HERE)),
        PartitionChangeRecord(partition_id=2, topic_id=TOPIC_ID, replicas=(2, 1), directories=(HERE, UNASSIGNED)),
        before=an_image(),
    )

    assert news.deleted == [TopicIdPartition(TOPIC_ID, "t", 1)]
    assert keys(news.followed) == [2]
    assert [directory for _, directory in news.moved] == [UNASSIGNED]


def test_another_directory_is_told():
    news = changes(
        PartitionChangeRecord(partition_id=1, topic_id=TOPIC_ID, directories=(HERE, UNASSIGNED)), before=an_image()
    )

    assert [(key.partition, directory) for key, directory in news.moved] == [(1, UNASSIGNED)]


def test_a_topic_that_is_made_anew_in_the_same_change_is_deleted_first():
    delta = TopicsDelta(an_image())
    delta.replay_remove(RemoveTopicRecord(TOPIC_ID))
    delta.replay_topic(TopicRecord("t", OTHER_ID))
    delta.replay_partition(partition(0, (1,), OTHER_ID))

    news = local_changes(delta, 1)

    assert [key.topic_id for key in news.deleted] == [TOPIC_ID, TOPIC_ID]
    assert [key.topic_id for key, _ in news.led] == [OTHER_ID]
