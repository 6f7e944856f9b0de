"""Offsets of many partitions are committed and fetched some at a time, and answered as one request's."""

import pytest
from group_cluster import GroupCluster

from falkirk.node.handlers.parts import requested_topics
from falkirk.protocol.messages import OffsetFetchRequest
from falkirk.protocol.messages import offset_fetch_request as fetches

pytestmark = pytest.mark.source


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> GroupCluster:
    monkeypatch.setattr(requested_topics, "OFFSETS_AT_ONCE", 3)
    made = GroupCluster(brokers=1, offsets_partitions=1)
    made.create("t", partitions=7, factor=1)
    made.create("u", partitions=2, factor=1)
    return made


def test_many_offsets_are_committed_some_at_a_time_and_fetched_so(cluster: GroupCluster) -> None:
    wanted = {("t", index): 10 + index for index in range(7)} | {("u", 0): 3, ("u", 1): 4, ("no", 0): 5}
    errors = cluster.commit("g", wanted)
    assert {key for key, error in errors.items() if error} == {("no", 0)}
    assert set(errors) == set(wanted)
    del wanted["no", 0]
    assert cluster.fetch_offsets("g") == wanted
    topics = [fetches.OffsetFetchRequestTopics("t", partition_indexes=tuple(range(8)))]
    topics.append(fetches.OffsetFetchRequestTopics("u", partition_indexes=(1, 0)))
    request = OffsetFetchRequest(groups=[fetches.OffsetFetchRequestGroup("g", topics=topics)])
    (group,) = cluster.ask("g", request, 8).groups
    assert [topic.name for topic in group.topics] == ["t", "u"]
    found = {
        (topic.name, each.partition_index): each.committed_offset for topic in group.topics for each in topic.partitions
    }
    assert found == wanted | {("t", 7): -1}


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_chunks_have_all_partitions_of_all_topics_in_order(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(requested_topics, "OFFSETS_AT_ONCE", count)
    topics = [
        fetches.OffsetFetchRequestTopics(name, partition_indexes=tuple(range(size)))
        for name, size in (("a", 5), ("b", 0), ("c", 1), ("d", 12))
    ]
    chunks = list(requested_topics.topic_chunks(topics, partitions="partition_indexes"))
    assert max(sum(len(topic.partition_indexes) for topic in chunk) for chunk in chunks) <= count
    found = [(topic.name, index) for chunk in chunks for topic in chunk for index in topic.partition_indexes]
    assert found == [(topic.name, index) for topic in topics for index in topic.partition_indexes]
    assert {topic.name for chunk in chunks for topic in chunk} == {"a", "b", "c", "d"}
