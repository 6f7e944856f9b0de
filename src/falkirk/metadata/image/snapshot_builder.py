"""Builds the image of a snapshot: equal to replaying its records one by one, and much faster for partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from immutables import Map

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.metadata.image.partition import Partition
from falkirk.metadata.image.partition_reader import PARTITION_FRAMES, TOPIC_ID_AT, PartitionReader
from falkirk.metadata.image.topic import Topic
from falkirk.metadata.image.topics import TopicsDelta, TopicsImage
from falkirk.metadata.records.errors import InconsistentRecordError, RecordError
from falkirk.metadata.records.record_key import partition_key, topic_key
from falkirk.metadata.records.record_reader import read_record
from falkirk.protocol.messages import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from falkirk.slices import DECISION_VISITS, VISITS_PER_SLICE, SliceBudget, exhaust

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.metadata.records.batch import MetadataBatch
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices

# Cutting a list of partitions into chunks takes that much less time than to visit each.
BUILT_PER_VISIT: Final = 10
FREED_PER_VISIT: Final = 10
"""Freeing a partition takes that much less time than to visit one."""
# Partitions that are alike are read much faster, but those of many brokers are not.
RECORDS_PER_SLICE: Final = VISITS_PER_SLICE // DECISION_VISITS
_OTHER_TOPIC_RECORDS = (PartitionChangeRecord, RemoveTopicRecord, ClearElrRecord)


def read_image_slices(batches: Iterable[MetadataBatch], provenance: Provenance) -> Slices[MetadataImage]:
    """Return the image of a snapshot's batches, read in slices of bounded size.

    Raises RecordError with offset and source.
    """
    return (yield from SnapshotBuilder().read_slices(batches, provenance))


class SnapshotBuilder:
    """Receives the batches of one snapshot, then builds the image. One that stops halfway may be freed in slices."""

    def __init__(self) -> None:
        self._delta = MetadataDelta(EMPTY)
        self._topics: _TopicsBuilder | None = _TopicsBuilder()
        self._budget = SliceBudget()

    def read_slices(self, batches: Iterable[MetadataBatch], provenance: Provenance) -> Slices[MetadataImage]:
        """Do what `read_image_slices` does."""
        for batch in batches:
            yield from self.add(batch)
        return (yield from self.build(provenance))

    def free_slices(self) -> Slices[None]:
        """Free what was read so far, in slices of bounded size; the builder must not be used after that."""
        if self._topics is not None:
            yield from self._topics.free_slices()

    def add(self, batch: MetadataBatch) -> Slices[None]:
        """Add the next batch. Raises RecordError with offset and source."""
        values = batch.values
        for start in range(0, len(values), RECORDS_PER_SLICE):
            part = values[start : start + RECORDS_PER_SLICE]
            self._add(part, batch.base_offset + start, batch.source)
            if self._budget.spend(len(part) * DECISION_VISITS):
                yield

    def build(self, provenance: Provenance) -> Slices[MetadataImage]:
        """Return the image; the builder must not be used after that."""
        yield from self._finish_topics()
        return self._delta.apply(provenance)

    def _add(self, values: Sequence[bytes], base_offset: int, source: str | None) -> None:
        at = 0
        while at < len(values):
            if self._topics is not None:
                at = self._topics.add_partitions(values, at)
                if at == len(values):
                    break
            try:
                self._replay(read_record(values[at]))
            except RecordError as error:
                error.locate(base_offset + at, source)
                raise
            at += 1

    def _replay(self, record: WireMessage) -> None:
        topics = self._topics
        if topics is not None and isinstance(record, TopicRecord):
            topics.replay_topic(record)
        elif topics is not None and isinstance(record, PartitionRecord):
            topics.replay_partition(record)
        else:
            if isinstance(record, _OTHER_TOPIC_RECORDS):
                exhaust(self._finish_topics())
            self._delta.replay(record)
            return
        self._delta.add_unknown_tags(record)
        topics.is_fast = self._delta.unknown_tags is None

    def _finish_topics(self) -> Slices[None]:
        """Continue record by record: Kafka's snapshots never change topics that they have written, but a log may."""
        if self._topics is not None:
            topics = yield from self._topics.build()
            self._delta.topics = TopicsDelta(topics)
            self._topics = None


class _TopicsBuilder:
    """Topics and partitions in the order of records: usually a topic, then all its partitions by rising number."""

    def __init__(self) -> None:
        # Unknown tagged fields must be kept account of, which the fast path does not do.
        self.is_fast = True
        self._reader = PartitionReader()
        self._names: dict[bytes, str] = {}
        self._used_names: set[str] = set()
        self._partitions: dict[bytes, list[Partition]] = {}
        # All partitions by number, of topics whose partitions do not come in order.
        self._unordered: dict[bytes, dict[int, Partition]] = {}
        # The topic of the last partition; its list is None if it is an unordered one.
        self._current_id: bytes | None = None
        self._current: list[Partition] | None = None

    def add_partitions(self, values: Sequence[bytes], at: int) -> int:
        """Add the values from position `at` on that are PartitionRecords in order; return where something else begins.

        That value has to be replayed as a record, even if it is a PartitionRecord.
        """
        while self.is_fast and at < len(values):
            value = values[at]
            version = PARTITION_FRAMES.get(value[:3])
            if version is None:
                break
            topic_id = value[TOPIC_ID_AT : TOPIC_ID_AT + 16]
            if topic_id != self._current_id:
                if topic_id not in self._partitions:
                    break
                self._select(topic_id)
            if self._current is None:
                break
            end = self._reader.read_run(values, at, version, topic_id, self._current)
            if end == at:
                break
            at = end
        return at

    def replay_topic(self, record: TopicRecord) -> None:
        """Create a topic. Raises InconsistentRecordError as TopicsDelta does."""
        name, topic_id = record.name, record.topic_id
        if topic_id in self._names:
            raise InconsistentRecordError("TopicRecord", f"topic {name}: the id is taken", key=topic_key(topic_id))
        if name in self._used_names:
            raise InconsistentRecordError("TopicRecord", f"the name {name} is taken", key=topic_key(topic_id))
        self._names[topic_id] = name
        self._used_names.add(name)
        self._partitions[topic_id] = []
        self._select(topic_id)

    def replay_partition(self, record: PartitionRecord) -> None:
        """Set a partition. Raises InconsistentRecordError as TopicsDelta does."""
        topic_id, partition_id = record.topic_id, record.partition_id
        key = partition_key(topic_id, partition_id)
        if partition_id < 0:
            raise InconsistentRecordError("PartitionRecord", "the number is negative", key=key)
        if topic_id not in self._partitions:
            raise InconsistentRecordError("PartitionRecord", "no topic has this id", key=key)
        partition = Partition.from_record(record)
        self._select(topic_id)
        self._put(partition_id, partition)

    def build(self) -> Slices[TopicsImage]:
        """Return the image of all topics."""
        by_name, budget = {}, SliceBudget()
        for topic_id, name in self._names.items():
            unordered = self._unordered.get(topic_id)
            if unordered is None:
                by_name[name] = Topic.in_order(name, topic_id, self._partitions[topic_id])
            else:
                by_name[name] = Topic.of(name, topic_id, unordered)
            if budget.spend(by_name[name].partition_count // BUILT_PER_VISIT):
                yield
        yield from self._reader.forget_slices()
        return TopicsImage(Map(by_name), Map(self._names))

    def free_slices(self) -> Slices[None]:
        """Free all partitions, in slices of bounded size."""
        budget = SliceBudget()
        self._current = None
        of_topics: list[dict[bytes, Any]] = [self._partitions, self._unordered]  # Any: lists and dicts of partitions
        for by_id in of_topics:
            while by_id:
                _, partitions = by_id.popitem()
                visits = len(partitions) // FREED_PER_VISIT
                del partitions
                if budget.spend(visits):
                    yield
        yield from self._reader.forget_slices()

    def _select(self, topic_id: bytes) -> None:
        self._current_id = topic_id
        self._current = None if topic_id in self._unordered else self._partitions[topic_id]

    def _put(self, partition_id: int, partition: Partition) -> None:
        """Set a partition of the selected topic."""
        topic_id, current = self._current_id, self._current
        assert topic_id is not None
        if current is not None:
            if partition_id == len(current):
                current.append(partition)
                return
            self._unordered[topic_id] = dict(enumerate(current))
            self._current = None
        self._unordered[topic_id][partition_id] = partition
