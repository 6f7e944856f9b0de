"""Records that were acknowledged to producers and read by consumers, by partition and offset: they stay as they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.plans.data_plan import Keeping
from falkirk.versions.release import CONSUMER_OFFSETS, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Container


class PartitionKey(NamedTuple):
    """A partition of a topic; a topic that is deleted and created again has another id."""

    topic_id: bytes
    partition: int


@dataclass(slots=True)
class PartitionHistory:
    """Values by offset: `acked` with acks=all, `read` by consumers. Each value is unique to one record.

    `deleted_to`: the offset up to which DeleteRecords has deleted. `end_seen`: the offset behind the last record that
    any client knows of.
    """

    acked: dict[int, bytes] = field(default_factory=dict)
    read: dict[int, bytes] = field(default_factory=dict)
    deleted_to: int = 0
    end_seen: int = 0


@dataclass(slots=True)
class DataHistory:
    """The history of all partitions.

    `lossy`: partitions of which Kafka, too, might have lost records. `restarted`: those of which all replicas that may
    lead have started again without having left the ISR.

    `idempotent`: names of producers that never write a record twice or out of order.
    """

    partitions: dict[PartitionKey, PartitionHistory] = field(default_factory=dict)
    topics: dict[bytes, str] = field(default_factory=dict)
    lossy: set[PartitionKey] = field(default_factory=set)
    restarted: set[PartitionKey] = field(default_factory=set)
    idempotent: set[str] = field(default_factory=set)
    produced: int = 0
    acked: int = 0
    given_up: int = 0
    read: int = 0

    def of(self, key: PartitionKey) -> PartitionHistory:
        """Return the history of a partition, empty at first."""
        return self.partitions.setdefault(key, PartitionHistory())

    def record_acked(self, key: PartitionKey, base_offset: int, values: list[bytes], after: int = 0) -> None:
        """Record values that were acknowledged with acks=all. `after`: `end_seen` when they were first sent.

        Offsets are an order of all appends, so appends are linearizable if none comes before what was known when it
        began.
        """
        self.acked += len(values)
        if self.keeping(key) is Keeping.NOTHING:
            return
        if base_offset < after and key not in self.lossy:
            raise InvariantViolatedError(
                "AppendsAreLinearizable",
                f"{shown(values[0])} is at offset {base_offset} of {self.name(key)}, "
                f"records up to {after - 1} were known before it was sent",
            )
        history = self.of(key)
        history.end_seen = max(history.end_seen, base_offset + len(values))
        acked = history.acked
        for offset, value in enumerate(values, base_offset):
            known = acked.setdefault(offset, value)
            if known != value and key not in self.lossy:
                raise InvariantViolatedError(
                    "AckedRecordsSurvive",
                    f"offset {offset} of {self.name(key)} was acknowledged for {shown(known)}, now for {shown(value)}",
                )

    def record_read(self, key: PartitionKey, offset: int, value: bytes, reader: str) -> None:
        """Record a value that a consumer has read. Raises InvariantViolatedError if another value was there."""
        self.read += 1
        if self.keeping(key) is Keeping.NOTHING:
            return
        history = self.of(key)
        history.end_seen = max(history.end_seen, offset + 1)
        known = history.read.setdefault(offset, value)
        if known != value and key not in self.lossy:
            raise InvariantViolatedError(
                "ReadsNeverChange",
                f"{reader} reads {shown(value)} at offset {offset} of {self.name(key)}, it was {shown(known)} before",
            )

    def check_passed(self, key: PartitionKey, passed: range, found: Container[int], reader: str) -> None:
        """Check that a consumer that goes on behind a range of offsets has `found` all that was acknowledged there."""
        if self.keeping(key) is not Keeping.ALL or key in self.lossy:
            return
        acked = self.of(key).acked
        for offset in passed:
            if offset in acked and offset not in found:
                raise InvariantViolatedError(
                    "ReadsSkipNothing",
                    f"{reader} goes from offset {passed.start} to {passed.stop} of {self.name(key)} without "
                    f"{shown(acked[offset])} at {offset}, which was acknowledged",
                )

    def keeping(self, key: PartitionKey) -> Keeping | None:
        """Return what a partition's topic keeps of its records; None if that is unknown."""
        topic = self.topics.get(key.topic_id, "")
        return Keeping.KEYS if topic in {CONSUMER_OFFSETS, TRANSACTION_STATE} else Keeping.of(topic)

    def is_produced_to(self, key: PartitionKey) -> bool:
        """Return whether producers write to a partition: records of all others are not from `make_value`."""
        return Keeping.of(self.topics.get(key.topic_id, "")) is not None

    def name(self, key: PartitionKey) -> str:
        """Return the partition's name for messages."""
        return f"{self.topics.get(key.topic_id, key.topic_id.hex())}-{key.partition}"


def make_value(producer: str, number: int, padding: int) -> bytes:
    """Return the value of a producer's record with that number, counted from 0."""
    return b"%s:%d:" % (producer.encode(), number) + b"." * padding


def shown(value: bytes | None) -> str:
    """Return a value as text for messages."""
    return "nothing" if value is None else value.rstrip(b".").decode(errors="replace")


def read_value(value: bytes) -> tuple[str, int]:
    """Return the producer and the record number of a value."""
    producer, number, _ = value.split(b":", 2)
    return producer.decode(), int(number)
