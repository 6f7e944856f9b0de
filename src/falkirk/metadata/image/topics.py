"""All topics, by name and by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from immutables import Map

from falkirk.metadata.image.partition import Partition
from falkirk.metadata.image.topic import CHUNK, Topic
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import ObjectKey, partition_key, topic_key
from falkirk.slices import SliceBudget, exhaust
from falkirk.structs import FrozenStruct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.protocol.messages import (
        ClearElrRecord,
        PartitionChangeRecord,
        PartitionRecord,
        RemoveTopicRecord,
        TopicRecord,
    )
    from falkirk.slices import Slices


CHANGED_PER_VISIT: Final = 4
"""Setting a partition takes that much less time than to visit one."""


class TopicsImage(FrozenStruct):
    """All topics. `names` has the name of each topic id, so that a change of a partition changes one map only."""

    by_name: Map[str, Topic] = Map()
    names: Map[bytes, str] = Map()

    def topic(self, name: str) -> Topic | None:
        """Return a topic by its name, None if there is none."""
        return self.by_name.get(name)

    def topic_by_id(self, topic_id: bytes) -> Topic | None:
        """Return a topic by its id, None if there is none."""
        name = self.names.get(topic_id)
        return None if name is None else self.by_name[name]

    def partition(self, name: str, partition_id: int) -> Partition | None:
        """Return a partition by its topic's name, None if there is none."""
        topic = self.by_name.get(name)
        return None if topic is None else topic.partition(partition_id)

    def __iter__(self) -> Iterator[Topic]:
        """Yield the topics in the order of their names."""
        by_name = self.by_name
        for name in sorted(by_name):
            yield by_name[name]

    @property
    def partition_count(self) -> int:
        """Count the partitions of all topics."""
        # Without a call for each topic: there may be very many.
        all_chunks = [topic.chunks for topic in self.by_name.values()]
        return sum((len(chunks) - 1) * CHUNK + len(chunks[-1]) for chunks in all_chunks if chunks)


class TopicDelta:
    """Pending changes of one topic; `before` is None for a topic that is created.

    `partitions` are read by others, and changed here alone.
    """

    __slots__ = ("_after", "before", "name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, before: Topic | None) -> None:
        self.name = name
        self.topic_id = topic_id
        self.before = before
        self.partitions: dict[int, Partition] = {}
        # The topic after the changes, if somebody has made it already.
        self._after: Topic | None = None

    @property
    def partition_count(self) -> int:
        """Number of partitions that are added or changed."""
        return len(self.partitions)

    def put(self, partition_id: int, partition: Partition) -> None:
        """Add or change a partition."""
        self.partitions[partition_id] = partition
        self._after = None

    def put_all(self, partitions: dict[int, Partition], after: Topic) -> None:
        """Add or change partitions, of which the dictionary is kept; the topic is then `after`."""
        self.partitions = {**self.partitions, **partitions} if self.partitions else partitions
        self._after = after

    def partition(self, partition_id: int) -> Partition | None:
        """Return a partition after the changes so far."""
        changed = self.partitions.get(partition_id)
        if changed is not None or self.before is None:
            return changed
        return self.before.partition(partition_id)

    def clear_elr(self) -> None:
        """Clear the eligible leader replicas of all partitions."""
        cleared = {}
        if self.before is not None:
            for partition_id, partition in self.before.items():
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    cleared[partition_id] = partition.without_elr()
        for partition_id, partition in self.partitions.items():
            cleared[partition_id] = partition.without_elr()
        if cleared:
            self.partitions.update(cleared)
            self._after = None

    def apply(self) -> Topic:
        """Return the topic after the changes."""
        if self._after is not None:
            return self._after
        if self.before is None:
            return Topic.of(self.name, self.topic_id, self.partitions)
        return self.before.with_partitions(self.partitions)


class TopicsDelta:
    """Pending changes of the topics: deltas of new and changed ones, ids and names of removed ones."""

    def __init__(self, image: TopicsImage) -> None:
        self.image = image
        self.changed: dict[bytes, TopicDelta] = {}
        # Topics of the image that go. One that is created and removed in the same delta leaves no trace.
        self.deleted: dict[bytes, str] = {}
        self._created_ids: dict[str, bytes] = {}

    @property
    def created(self) -> list[TopicDelta]:
        """Deltas of new topics."""
        return [delta for delta in self.changed.values() if delta.before is None]

    def replay_topic(self, record: TopicRecord) -> None:
        """Create a topic. Raises InconsistentRecordError if its id or name exists."""
        name, topic_id = record.name, record.topic_id
        if self.name_of(topic_id) is not None:
            raise InconsistentRecordError("TopicRecord", f"topic {name}: the id is taken", key=topic_key(topic_id))
        if self.id_of(name) is not None:
            raise InconsistentRecordError("TopicRecord", f"the name {name} is taken", key=topic_key(topic_id))
        self.changed[topic_id] = TopicDelta(name, topic_id, None)
        self._created_ids[name] = topic_id

    def replay_partition(self, record: PartitionRecord) -> None:
        """Add or replace a partition. Raises InconsistentRecordError for an unknown topic, or as Partition does."""
        key = partition_key(record.topic_id, record.partition_id)
        if record.partition_id < 0:
            raise InconsistentRecordError("PartitionRecord", "the number is negative", key=key)
        delta = self._delta(record.topic_id)
        if delta is None:
            raise InconsistentRecordError("PartitionRecord", "no topic has this id", key=key)
        delta.put(record.partition_id, Partition.from_record(record))

    def set_partitions(self, after: Topic, partitions: dict[int, Partition]) -> None:
        """Set partitions of an existing topic, which is then `after`."""
        delta = self._delta(after.topic_id)
        assert delta is not None, "no topic has this id"
        delta.put_all(partitions, after)

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        """Change a partition. Raises InconsistentRecordError for an unknown one, or as Partition does."""
        delta = self.changed.get(record.topic_id) or self._delta(record.topic_id)
        partition = None if delta is None else delta.partition(record.partition_id)
        if delta is None or partition is None:
            key = partition_key(record.topic_id, record.partition_id)
            reason = "no topic has this id" if delta is None else f"topic {delta.name} has no such partition"
            raise InconsistentRecordError("PartitionChangeRecord", reason, key=key)
        delta.put(record.partition_id, partition.changed_by(record))

    def replay_remove(self, record: RemoveTopicRecord) -> str:
        """Remove a topic and return its name. Raises InconsistentRecordError for an unknown one."""
        topic_id = record.topic_id
        name = self.name_of(topic_id)
        if name is None:
            raise InconsistentRecordError("RemoveTopicRecord", "no topic has this id", key=topic_key(topic_id))
        self.changed.pop(topic_id, None)
        self._created_ids.pop(name, None)
        if topic_id in self.image.names:
            self.deleted[topic_id] = name
        return name

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        """Clear eligible leader replicas of one topic, or of all if no name is given.

        Raises InconsistentRecordError for an unknown topic.
        """
        if not record.topic_name:
            exhaust(self.clear_elr_slices())
            return
        named_id = self.id_of(record.topic_name)
        if named_id is None:
            key = ObjectKey("topic_elr", (record.topic_name,))
            raise InconsistentRecordError("ClearElrRecord", "no topic has this name", key=key)
        self._clear_elr(named_id)

    def clear_elr_slices(self) -> Slices[None]:
        """Clear the eligible leader replicas of all topics."""
        budget = SliceBudget()
        for topic_id in [*self.image.names, *self._created_ids.values()]:
            if budget.spend(self._clear_elr(topic_id)):
                yield

    def name_of(self, topic_id: bytes) -> str | None:
        """Return a topic's name after the changes so far."""
        delta = self.changed.get(topic_id)
        if delta is not None:
            return delta.name
        return None if topic_id in self.deleted else self.image.names.get(topic_id)

    def id_of(self, name: str) -> bytes | None:
        """Return a topic's id after the changes so far."""
        created = self._created_ids.get(name)
        if created is not None:
            return created
        topic = self.image.by_name.get(name)
        return None if topic is None or topic.topic_id in self.deleted else topic.topic_id

    def apply(self) -> TopicsImage:
        """Return the next image, in time proportional to the changes."""
        return exhaust(self.apply_slices())

    def apply_slices(self) -> Slices[TopicsImage]:
        """Do what `apply` does in slices of bounded size; nothing may be replayed meanwhile."""
        image = self.image
        if not self.deleted and len(self.changed) == 1:
            (delta,) = self.changed.values()
            names = image.names.set(delta.topic_id, delta.name) if delta.before is None else image.names
            return TopicsImage(image.by_name.set(delta.name, delta.apply()), names)
        by_name, names_by_id, budget = image.by_name.mutate(), image.names.mutate(), SliceBudget()
        for topic_id, name in self.deleted.items():
            del by_name[name]
            del names_by_id[topic_id]
        for topic_id, delta in self.changed.items():
            by_name[delta.name] = delta.apply()
            if delta.before is None:
                names_by_id[topic_id] = delta.name
            if budget.spend(1 + len(delta.partitions) // CHANGED_PER_VISIT):
                yield
        return TopicsImage(by_name.finish(), names_by_id.finish())

    @classmethod
    def between_slices(cls, before: TopicsImage, after: TopicsImage) -> Slices[TopicsDelta]:
        """Return the delta that leads from one image to the other, in the order of names: brokers act in its order."""
        delta, budget = cls(before), SliceBudget()
        if before is after:
            return delta
        for topic in before:
            if after.names.get(topic.topic_id) != topic.name:
                delta.deleted[topic.topic_id] = topic.name
            if budget.spend(1):
                yield
        for topic in after:
            name = topic.name
            old = before.by_name.get(name)
            if old is not topic:
                if old is None or old.topic_id != topic.topic_id:
                    change = TopicDelta(name, topic.topic_id, None)
                    delta._created_ids[name] = topic.topic_id
                    change.put_all(dict(topic.items()), topic)
                    delta.changed[topic.topic_id] = change
                elif old != topic:
                    delta.changed[topic.topic_id] = _changes(old, topic)
            if budget.spend(1 if old is topic else topic.partition_count):
                yield
        return delta

    def _delta(self, topic_id: bytes) -> TopicDelta | None:
        delta = self.changed.get(topic_id)
        if delta is None:
            topic = None if topic_id in self.deleted else self.image.topic_by_id(topic_id)
            if topic is None:
                return None
            delta = self.changed[topic_id] = TopicDelta(topic.name, topic_id, topic)
        return delta

    def _clear_elr(self, topic_id: bytes) -> int:
        """Clear a topic's eligible leader replicas; return how many partitions were visited."""
        delta = self.changed.get(topic_id)
        if delta is None:
            topic = None if topic_id in self.deleted else self.image.topic_by_id(topic_id)
            if topic is None:
                return 0
            delta = TopicDelta(topic.name, topic_id, topic)
        delta.clear_elr()
        if delta.partitions:
            self.changed[topic_id] = delta
        return len(delta.partitions) if delta.before is None else delta.before.partition_count


def _changes(before: Topic, after: Topic) -> TopicDelta:
    """Return the delta between two states of one topic; if partitions are gone it is a new topic."""
    if any(after.partition(partition_id) is None for partition_id, _ in before.items()):
        change = TopicDelta(after.name, after.topic_id, None)
        changed = dict(after.items())
    else:
        change = TopicDelta(after.name, after.topic_id, before)
        changed = {
            partition_id: partition
            for partition_id, partition in after.items()
            if before.partition(partition_id) != partition
        }
    change.put_all(changed, after)
    return change
