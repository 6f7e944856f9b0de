import pytest

from falkirk.metadata.image.partition import Partition
from falkirk.metadata.image.topic import Topic
from falkirk.metadata.image.topics import TopicsDelta, TopicsImage
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.protocol.messages import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

A, B = b"a" * 16, b"b" * 16


def partition(leader):
    return Partition((leader,), (bytes(16),), (leader,), leader, 0, 0)


def record(topic_id, number, **fields):
    return PartitionRecord(number, topic_id, (1, 2), (1,), leader=1, leader_epoch=0, partition_epoch=0, **fields)


def two_topics():
    delta = TopicsDelta(TopicsImage())
    delta.replay_topic(TopicRecord("alpha", A))
    delta.replay_topic(TopicRecord("beta", B))
    for number in range(3):
        delta.replay_partition(record(A, number, eligible_leader_replicas=(2,)))
    delta.replay_partition(record(B, 0, last_known_elr=(2,)))
    delta.replay_partition(record(B, 1))
    return delta.apply()


def test_topics_are_found_by_name_and_id_and_partitions_by_number():
    image = two_topics()

    assert image.topic("alpha") is image.topic_by_id(A)
    assert image.partition("alpha", 2).leader == 1
    assert image.partition("alpha", 3) is None
    assert image.partition("alpha", -1) is None
    assert image.partition("gamma", 0) is None
    assert image.topic_by_id(b"c" * 16) is None
    assert image.partition_count == 5
    assert [topic.name for topic in image] == ["alpha", "beta"]


def test_partition_numbers_may_come_in_any_order_and_have_gaps():
    dense = Topic.of("t", A, {2: partition(2), 0: partition(0), 1: partition(1)})
    sparse = Topic.of("t", A, {7: partition(7), 2**31 - 1: partition(1)})

    assert dense.partition_ids is None
    assert [item.leader for item in dense.partitions] == [0, 1, 2]
    assert sparse.partition(7).leader == 7
    assert sparse.partition(2**31 - 1).leader == 1
    assert sparse.partition(0) is None
    assert sparse.partition(8) is None
    assert [number for number, _ in sparse.items()] == [7, 2**31 - 1]


@pytest.mark.parametrize("size", [0, 3, 15, 16, 17, 32, 40])
@pytest.mark.parametrize(
    "changes", [{}, {0: 9}, {3: 9}, {3: 9, 4: 8}, {5: 9}, {4: 9, 1: 8}, {16: 9}, {15: 9, 16: 8}, {32: 9}, {2**30: 1}]
)
def test_changed_partitions_take_their_places(size, changes):
    topic = Topic.of("t", A, {number: partition(number) for number in range(size)})
    changed = {number: partition(leader) for number, leader in changes.items()}
    after = topic.with_partitions(changed)

    assert after == Topic.of("t", A, dict(topic.items()) | changed)
    assert dict(after.items()) == dict(topic.items()) | changed
    assert after.partition_count == len(after.partitions) == len(set(range(size)) | set(changes))
    assert after.partition(after.partition_count) is None or after.partition_ids


def test_a_change_shares_all_partitions_but_its_neighbours():
    topic = Topic.of("t", A, {number: partition(number) for number in range(100)})
    after = topic.with_partitions({50: partition(7)})

    assert sum(new is not old for new, old in zip(after.chunks, topic.chunks, strict=True)) == 1
    assert [item.leader for item in after.partitions[49:52]] == [49, 7, 51]


def test_a_gap_that_closes_leaves_no_trace():
    sparse = Topic.of("t", A, {0: partition(0), 2: partition(2)})

    assert sparse.with_partitions({1: partition(1)}) == Topic.of("t", A, {n: partition(n) for n in range(3)})


def test_a_topic_created_and_removed_in_one_delta_leaves_no_trace():
    image = two_topics()
    delta = TopicsDelta(image)
    delta.replay_topic(TopicRecord("gamma", b"c" * 16))
    delta.replay_partition(record(b"c" * 16, 0))
    assert [topic.name for topic in delta.created] == ["gamma"]
    assert delta.replay_remove(RemoveTopicRecord(b"c" * 16)) == "gamma"

    assert delta.deleted == delta.changed == {}
    assert delta.apply() == image


def test_a_removed_topic_is_gone_by_name_and_id():
    delta = TopicsDelta(two_topics())
    delta.replay_partition_change(PartitionChangeRecord(0, A, leader=2))
    delta.replay_remove(RemoveTopicRecord(A))
    image = delta.apply()

    assert delta.deleted == {A: "alpha"}
    assert image.topic("alpha") is None
    assert image.topic_by_id(A) is None
    assert image.topic("beta") is not None


def test_eligible_replicas_are_cleared_of_one_topic_or_of_all():
    image = two_topics()
    one, everything = TopicsDelta(image), TopicsDelta(image)
    one.replay_clear_elr(ClearElrRecord("alpha"))
    everything.replay_clear_elr(ClearElrRecord(""))

    after = one.apply()
    assert [item.eligible_leader_replicas for item in after.topic("alpha").partitions] == [(), (), ()]
    assert [item.partition_epoch for item in after.topic("alpha").partitions] == [1, 1, 1]
    assert after.topic("beta") is image.topic("beta")
    assert everything.apply().partition("beta", 0).last_known_elr == ()
    # Nothing to clear there, so its epoch stays.
    assert everything.apply().partition("beta", 1) == image.partition("beta", 1)


def test_clearing_counts_what_the_delta_itself_brought():
    delta = TopicsDelta(two_topics())
    delta.replay_topic(TopicRecord("gamma", b"c" * 16))
    delta.replay_partition(record(b"c" * 16, 0, eligible_leader_replicas=(2,)))
    delta.replay_partition_change(PartitionChangeRecord(1, B, eligible_leader_replicas=(1,)))
    delta.replay_clear_elr(ClearElrRecord(""))
    image = delta.apply()

    assert image.partition("gamma", 0).eligible_leader_replicas == ()
    assert image.partition("beta", 1).eligible_leader_replicas == ()
    assert image.partition("beta", 1).partition_epoch == 2


def test_topics_without_eligible_replicas_do_not_enter_the_delta():
    delta = TopicsDelta(two_topics())
    delta.replay_remove(RemoveTopicRecord(A))
    delta.replay_partition_change(PartitionChangeRecord(0, B, last_known_elr=()))
    image = delta.apply()
    again = TopicsDelta(image)
    again.replay_clear_elr(ClearElrRecord(""))

    assert again.changed == {}


@pytest.mark.parametrize(
    ("replay", "bad", "message"),
    [
        ("replay_topic", TopicRecord("other", A), "TopicRecord .*: topic other: the id is taken"),
        ("replay_topic", TopicRecord("alpha", b"c" * 16), "TopicRecord .*: the name alpha is taken"),
        ("replay_partition", record(b"c" * 16, 0), "PartitionRecord .* partition 0.: no topic has this id"),
        ("replay_partition", record(A, -1), "PartitionRecord .*: the number is negative"),
        ("replay_partition_change", PartitionChangeRecord(0, b"c" * 16), "PartitionChangeRecord .*: no topic has"),
        ("replay_partition_change", PartitionChangeRecord(3, A), "partition 3.: topic alpha has no such partition"),
        ("replay_remove", RemoveTopicRecord(b"c" * 16), "RemoveTopicRecord .*: no topic has this id"),
        ("replay_clear_elr", ClearElrRecord("gamma"), "ClearElrRecord .topic elr gamma.: no topic has this name"),
    ],
)
def test_records_that_contradict_the_topics_are_refused(replay, bad, message):
    with pytest.raises(InconsistentRecordError, match=message):
        getattr(TopicsDelta(two_topics()), replay)(bad)


@pytest.mark.parametrize(
    ("replay", "bad"),
    [
        ("replay_partition", record(A, 0)),
        ("replay_partition_change", PartitionChangeRecord(0, A)),
        ("replay_remove", RemoveTopicRecord(A)),
        ("replay_clear_elr", ClearElrRecord("alpha")),
    ],
)
def test_a_topic_that_the_delta_removed_is_unknown(replay, bad):
    delta = TopicsDelta(two_topics())
    delta.replay_remove(RemoveTopicRecord(A))
    with pytest.raises(InconsistentRecordError):
        getattr(delta, replay)(bad)
