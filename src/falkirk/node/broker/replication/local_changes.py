"""What changes of the image mean for one broker's replicas (Kafka's LocalReplicaChanges); which are not applied yet.

Changes are applied in slices, so an image may be newer than the replicas. Each replica waits once, in the order of its
oldest change, and what is applied in the end is its newest state: a replica that is created and deleted meanwhile was
never there.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from falkirk.protocol.topic_partition import TopicIdPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topics import TopicsDelta, TopicsImage


@dataclass(frozen=True, slots=True)
class LocalChange:
    """A replica of this broker whose partition has changed: `before` is the state that was applied last, if any was."""

    key: TopicIdPartition
    before: "Partition | None"


@dataclass(slots=True)
class _Waiting:
    before: "Partition | None"
    # The end offset of the last image that does not have the change.
    start_offset: int


class PendingChanges:
    """The changes that are not applied yet: `add` takes a delta in constant time, `read_some` goes through it."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id
        # Deltas that are not read to the end, each with the end offset of the image before it.
        self._unread: deque[tuple[Iterator[LocalChange | None], int]] = deque()
        # Not a dict: its first key is found by going over all that were removed before it.
        self._waiting: OrderedDict[TopicIdPartition, _Waiting] = OrderedDict()

    def __bool__(self) -> bool:
        """Return whether any change is left."""
        return bool(self._unread or self._waiting)

    def __contains__(self, key: TopicIdPartition) -> bool:
        """Return whether a replica may have a change that is not applied."""
        return bool(self._unread) or key in self._waiting

    @property
    def start_offset(self) -> int | None:
        """The end offset of the last image that is applied as a whole; None if all are."""
        if self._waiting:
            return next(iter(self._waiting.values())).start_offset
        return self._unread[0][1] if self._unread else None

    def add(self, delta: TopicsDelta, start_offset: int) -> None:
        """Add a change of the image; `start_offset`: the end offset of the image before it."""
        self._unread.append((local_changes(delta, self._node_id), start_offset))

    def add_all(self, image: TopicsImage) -> None:
        """Add all topics of the first image."""
        self._unread.append((_all_partitions(image, self._node_id), 0))

    def add_logs(self, keys: Iterable[TopicIdPartition]) -> None:
        """Add replicas that have a log, whether the first image has them or not."""
        self._unread.append((iter(LocalChange(key, None) for key in keys), 0))

    def read_some(self, partitions_max: int) -> bool:
        """Go through at most so many changed partitions; return whether all were read."""
        while self._unread and partitions_max > 0:
            changes, start_offset = self._unread[0]
            count = 0
            for change in islice(changes, partitions_max):
                count += 1
                if change is not None:
                    self._waiting.setdefault(change.key, _Waiting(change.before, start_offset))
            if count < partitions_max:
                self._unread.popleft()
            partitions_max -= count
        return not self._unread

    def pop(self) -> LocalChange | None:
        """Return and remove the oldest change; None if there is none."""
        if not self._waiting:
            return None
        key, waiting = self._waiting.popitem(last=False)
        return LocalChange(key, waiting.before)

    def clear(self) -> None:
        """Drop all changes."""
        self._unread.clear()
        self._waiting.clear()


def local_changes(delta: TopicsDelta, node_id: int) -> Iterator[LocalChange | None]:
    """Yield a broker's changes, and None for each changed partition that is none of its business.

    Deletions come first: a topic of the same name may have been created again.
    """
    before = delta.image
    for topic_id in delta.deleted:
        topic = before.topic_by_id(topic_id)
        assert topic is not None, "deleted topics were in the image"
        for index, partition in topic.items():
            has_replica = node_id in partition.replicas
            yield LocalChange(TopicIdPartition(topic_id, topic.name, index), partition) if has_replica else None
    for topic_id, changed in delta.changed.items():
        old_topic = before.topic_by_id(topic_id)
        for index, partition in changed.partitions.items():
            old = None if old_topic is None else old_topic.partition(index)
            is_here = node_id in partition.replicas or (old is not None and node_id in old.replicas)
            yield LocalChange(TopicIdPartition(topic_id, changed.name, index), old) if is_here else None


def directory_of(partition: Partition, node_id: int) -> bytes:
    """Return the directory of a broker's replica in the image."""
    return partition.directories[partition.replicas.index(node_id)]


def has_moved(before: Partition | None, partition: Partition, node_id: int) -> bool:
    """Return whether the image has another directory for a broker's replica than before, or a first one."""
    if before is None or node_id not in before.replicas:
        return True
    return directory_of(before, node_id) != directory_of(partition, node_id)


def _all_partitions(image: TopicsImage, node_id: int) -> Iterator[LocalChange | None]:
    for topic in image:
        for index, partition in topic.items():
            has_replica = node_id in partition.replicas
            yield LocalChange(TopicIdPartition(topic.topic_id, topic.name, index), None) if has_replica else None
