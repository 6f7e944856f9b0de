"""What producers were told and consumers were shown, by partition and offset: it may never be gone or differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from falkirk.simulation.checkers.checker import InvariantViolatedError
from falkirk.versions.release import CONSUMER_OFFSETS


class PartitionKey(NamedTuple):
    """A partition of a topic; a topic that is made anew under its name has another id."""

    topic_id: bytes
    partition: int


class Keeping(Enum):
    """What a topic keeps of its records; names of topics begin with it."""

    ALL = "kept"
    END = "trimmed"
    """Retention and DeleteRecords take what is old."""
    NOTHING = "passing"
    """The topic is deleted and made anew by its name. Older requests know no more than that, so nothing is tracked."""
    KEYS = "compacted"
    """Of each key the last record stays."""

    @classmethod
    def of(cls, topic: str) -> Keeping | None:
        """Tell by the name; None: a topic that nobody produces to."""
        return _BY_WORD.get(topic.partition("-")[0])


_BY_WORD: Final = {keeping.value: keeping for keeping in Keeping}


@dataclass(slots=True)
class PartitionHistory:
    """Values by offset: `acked` with acks=all, `read` by consumers. Each value is given to one record alone.

    `deleted_to`: what is before was deleted, as DeleteRecords said.
    """

    acked: dict[int, bytes] = field(default_factory=dict)
    read: dict[int, bytes] = field(default_factory=dict)
    deleted_to: int = 0


@dataclass(slots=True)
class DataHistory:
    """What is known of all partitions. `lossy`: partitions of which Kafka, too, may have lost records.

    `idempotent`: names of producers that never write a record twice, or in another order than that of its number.
    """

    partitions: dict[PartitionKey, PartitionHistory] = field(default_factory=dict)
    topics: dict[bytes, str] = field(default_factory=dict)
    lossy: set[PartitionKey] = field(default_factory=set)
    idempotent: set[str] = field(default_factory=set)
    produced: int = 0
    acked: int = 0
    given_up: int = 0
    read: int = 0

    def of(self, key: PartitionKey) -> PartitionHistory:
        """Give what is known of a partition."""
        return self.partitions.setdefault(key, PartitionHistory())

    def take_acked(self, key: PartitionKey, base_offset: int, values: list[bytes]) -> None:
        """Take note of records that must never be gone."""
        self.acked += len(values)
        if self.keeping(key) is Keeping.NOTHING:
            return
        acked = self.of(key).acked
        for offset, value in enumerate(values, base_offset):
            known = acked.setdefault(offset, value)
            if known != value and key not in self.lossy:
                raise InvariantViolatedError(
                    "AckedRecordsSurvive",
                    f"offset {offset} of {self.name(key)} was acknowledged for {shown(known)}, now for {shown(value)}",
                )

    def take_read(self, key: PartitionKey, offset: int, value: bytes, reader: str) -> None:
        """Take note of a record that a consumer was shown."""
        self.read += 1
        if self.keeping(key) is Keeping.NOTHING:
            return
        known = self.of(key).read.setdefault(offset, value)
        if known != value and key not in self.lossy:
            raise InvariantViolatedError(
                "ReadsNeverChange",
                f"{reader} reads {shown(value)} at offset {offset} of {self.name(key)}, it was {shown(known)} before",
            )

    def keeping(self, key: PartitionKey) -> Keeping | None:
        """Say what is kept of a partition."""
        topic = self.topics.get(key.topic_id, "")
        return Keeping.KEYS if topic == CONSUMER_OFFSETS else Keeping.of(topic)

    def is_produced_to(self, key: PartitionKey) -> bool:
        """Say whether producers write a partition: the records of all others are not of `make_value`."""
        return Keeping.of(self.topics.get(key.topic_id, "")) is not None

    def name(self, key: PartitionKey) -> str:
        """Name a partition."""
        return f"{self.topics.get(key.topic_id, key.topic_id.hex())}-{key.partition}"


def make_value(producer: str, number: int, padding: int) -> bytes:
    """Make the value of a producer's record of that number, from 0 on."""
    return b"%s:%d:" % (producer.encode(), number) + b"." * padding


def shown(value: bytes | None) -> str:
    """Give a value as a line of text shows it."""
    return "nothing" if value is None else value.rstrip(b".").decode(errors="replace")


def read_value(value: bytes) -> tuple[str, int]:
    """Give the producer and the number of its record."""
    producer, number, _ = value.split(b":", 2)
    return producer.decode(), int(number)
