"""What a change of the image means for one broker's replicas (Kafka's LocalReplicaChanges)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.protocol.topic_partition import TopicIdPartition

if TYPE_CHECKING:
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.image.topics import TopicsDelta


@dataclass(slots=True)
class LocalChanges:
    """`led`, `followed`: replicas whose partition has changed; `moved`: whose directory has; `deleted`: removed."""

    led: list[tuple[TopicIdPartition, Partition]] = field(default_factory=list)
    followed: list[tuple[TopicIdPartition, Partition]] = field(default_factory=list)
    moved: list[tuple[TopicIdPartition, bytes]] = field(default_factory=list)
    deleted: list[TopicIdPartition] = field(default_factory=list)


def local_changes(delta: TopicsDelta, node_id: int) -> LocalChanges:
    """Return a broker's changes; the cost depends on what changed only."""
    changes = LocalChanges()
    before = delta.image
    for topic_id in delta.deleted:
        topic = before.topic_by_id(topic_id)
        assert topic is not None, "deleted topics were in the image"
        changes.deleted.extend(_replicas(topic, node_id))
    for topic_id, changed in delta.changed.items():
        old_topic = before.topic_by_id(topic_id)
        for index, partition in changed.partitions.items():
            key = TopicIdPartition(topic_id, changed.name, index)
            old = None if old_topic is None else old_topic.partition(index)
            _add(changes, key, old, partition, node_id)
    return changes


def directory_of(partition: Partition, node_id: int) -> bytes:
    """Return the directory of a broker's replica in the image."""
    return partition.directories[partition.replicas.index(node_id)]


def _replicas(topic: Topic, node_id: int) -> list[TopicIdPartition]:
    return [
        TopicIdPartition(topic.topic_id, topic.name, index)
        for index, partition in topic.items()
        if node_id in partition.replicas
    ]


def _add(changes: LocalChanges, key: TopicIdPartition, old: Partition | None, new: Partition, node_id: int) -> None:
    if node_id not in new.replicas:
        if old is not None and node_id in old.replicas:
            changes.deleted.append(key)
        return
    if old is None or old.partition_epoch != new.partition_epoch:
        (changes.led if new.leader == node_id else changes.followed).append((key, new))
    directory = directory_of(new, node_id)
    if old is None or node_id not in old.replicas or directory_of(old, node_id) != directory:
        changes.moved.append((key, directory))
