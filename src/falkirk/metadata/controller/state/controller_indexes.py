"""What a controller looks up without searching the image. Every controller keeps it, so that any can be active next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.metadata.controller.state.broker_partitions import BrokerPartitions, PartitionChanges
from falkirk.metadata.controller.state.existing_acls import ExistingAcls
from falkirk.metadata.controller.state.partition_set import PartitionKey
from falkirk.metadata.controller.state.topic_names import CollidingNames
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.slices import SliceBudget, exhaust

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.metadata.image.acls import Acl, AclsDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.image.topics import TopicsDelta
    from falkirk.slices import Slices

# Of a slice's visits: a partition is in the indexes of several brokers.
_VISITS_PER_CHANGE: Final = 2


class ControllerIndexes(NamedTuple):
    """Indexes of an image, or of one on the way to it; immutable, made anew by each change at the cost of the change.

    `partitions`: which partitions each broker leads or has in sync: what a fenced broker takes with it.
    """

    partitions: BrokerPartitions = BrokerPartitions()
    colliding_names: CollidingNames = CollidingNames()
    existing_acls: ExistingAcls = ExistingAcls()

    @classmethod
    def of(cls, image: MetadataImage) -> ControllerIndexes:
        """Index a whole image, at its cost."""
        return cls().changed_by(MetadataDelta.between(EMPTY, image))

    def changed_by(self, delta: MetadataDelta) -> ControllerIndexes:
        """Return the indexes of the image that a delta leads to."""
        return exhaust(self.changed_in_slices((delta,)))

    def changed_in_slices(self, deltas: Iterable[MetadataDelta]) -> Slices[ControllerIndexes]:
        """Apply deltas that follow each other, in slices of bounded size."""
        indexes, changes, has_changes, budget = self, _Changes(), False, SliceBudget()
        for delta in deltas:
            for _ in changes.collect(delta):
                has_changes = True
                if budget.spend(_VISITS_PER_CHANGE):
                    indexes = _changed(indexes, changes)
                    changes.clear()
                    has_changes = False
                    yield
        return _changed(indexes, changes) if has_changes else indexes


class _Changes:
    """Changes of each index, collected so that each is rebuilt once for many."""

    __slots__ = ("acls", "names", "partitions")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all changes."""
        self.partitions = PartitionChanges()
        self.names: dict[str, bool] = {}
        self.acls: dict[Acl, int] = {}

    def collect(self, delta: MetadataDelta) -> Iterator[None]:
        """Add the changes of a delta, one at each turn."""
        if delta.topics is not None:
            yield from self._collect_topics(delta.topics)
        if delta.acls is not None:
            yield from self._collect_acls(delta.acls)

    def _collect_topics(self, delta: TopicsDelta) -> Iterator[None]:
        for name in delta.deleted.values():
            self.names[name] = False
            yield
            yield from self._remove_partitions(delta.image.by_name[name])
        for topic_id, topic in delta.changed.items():
            before = topic.before
            if before is None:
                replaced = None if topic_id in delta.deleted else delta.image.topic_by_id(topic_id)
                if replaced is not None:
                    # As the difference of two images has a topic that lost partitions.
                    yield from self._remove_partitions(replaced)
                self.names[topic.name] = True
                yield
            for partition_id, partition in topic.partitions.items():
                old = None if before is None else before.partition(partition_id)
                self.partitions.add(PartitionKey(topic_id, partition_id), old, partition)
                yield

    def _remove_partitions(self, topic: Topic) -> Iterator[None]:
        for partition_id, partition in topic.items():
            self.partitions.add(PartitionKey(topic.topic_id, partition_id), partition, None)
            yield

    def _collect_acls(self, delta: AclsDelta) -> Iterator[None]:
        for acl_id, acl in delta.acls.changes.items():
            before = delta.acls.base.get(acl_id)
            if before is not None:
                self.acls[before] = self.acls.get(before, 0) - 1
            if acl is not None:
                self.acls[acl] = self.acls.get(acl, 0) + 1
            yield


def _changed(indexes: ControllerIndexes, changes: _Changes) -> ControllerIndexes:
    return ControllerIndexes(
        indexes.partitions.changed_by(changes.partitions),
        indexes.colliding_names.changed_by(changes.names),
        indexes.existing_acls.changed_by(changes.acls),
    )
