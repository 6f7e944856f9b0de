"""Fake partitions of a broker for handler tests: they record calls and return prepared results."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.node.broker.replication.answers import PartitionProduced, RecordsDeleted
from falkirk.node.broker.replication.fetch_params import PartitionFetched
from falkirk.node.broker.replication.replica_log_dirs import LogDirState
from falkirk.node.broker.replication.replica_manager import ReplicaManager
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.read import TimestampOffset
from falkirk.storage.log.unified_log import UnifiedLog

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage


@dataclass(eq=False)
class FakeLog(UnifiedLog):
    """A log with prepared answers."""

    topic_partition: TopicPartition = field(default_factory=lambda: TopicPartition("a", 0))
    directory: str = "/d0/a-0"
    config: LogConfig = field(default_factory=LogConfig)
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = 0
    size: int = 0
    stable: int | None = None
    epochs: dict[int, int] = field(default_factory=dict)
    """Start offset by epoch."""
    by_timestamp: dict[int, TimestampOffset] = field(default_factory=dict)
    of_max_timestamp: TimestampOffset | None = None
    starts: list[TimestampOffset] = field(default_factory=list)
    producers: list[Any] = field(default_factory=list)

    @property
    def last_stable_offset(self) -> int:
        return self.high_watermark if self.stable is None else self.stable

    def epoch_of(self, offset: int) -> int | None:
        return max((epoch for epoch, start in self.epochs.items() if start <= offset), default=None)

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch | None:
        if epoch > max(self.epochs, default=-1):
            return None
        later = [start for each, start in self.epochs.items() if each > epoch]
        found = max((each for each in self.epochs if each <= epoch), default=epoch)
        return OffsetAndEpoch(min(later, default=self.log_end_offset), found)

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        return self.by_timestamp.get(timestamp)

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        return self.of_max_timestamp

    def segment_starts(self, now_ms: int) -> list[TimestampOffset]:
        return [*self.starts, TimestampOffset(timestamp=now_ms, offset=self.log_end_offset)]

    def active_producers(self) -> list[Any]:
        return self.producers


class FakeLogManager:
    """Holds the fake logs."""

    def __init__(self, logs: list[FakeLog]) -> None:
        self._logs = logs

    def logs(self) -> Iterator[FakeLog]:
        return iter(self._logs)


class FakeReplicas(ReplicaManager):
    """Logs (or the error to answer) and results by partition; `asked` has all calls, by name.

    With `answers_later` nothing completes before `answer`.
    """

    def __init__(self, image: MetadataImage = EMPTY, *, answers_later: bool = False) -> None:
        self.context = SimpleNamespace(image=image, now_ms=1_000, config=SimpleNamespace(node_id=1))
        self.is_started = True
        self.current: dict[TopicPartition, FakeLog | ErrorCode] = {}
        self.other_logs: list[FakeLog] = []
        self.directories: dict[str, LogDirState] = {"/d0": LogDirState()}
        self.results: dict[TopicPartition, Any] = {}
        self.asked: list[tuple[str, Any]] = []
        self.answers_later = answers_later
        self._waiting: list[Callable[[], None]] = []

    @property
    def logs(self) -> FakeLogManager:  # type: ignore[override]
        current = [log for log in self.current.values() if isinstance(log, FakeLog)]
        return FakeLogManager(current + self.other_logs)

    def answer(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each()

    def _tell(self, answer: Callable[[], None]) -> None:
        self._waiting.append(answer)
        if not self.answers_later:
            self.answer()

    def append_records(self, records, *, done, **fields) -> None:
        self.asked.append(("append", {"records": {key: bytes(data) for key, data in records.items()}, **fields}))
        self._tell(
            lambda: done(
                {key: self.results.get(key.topic_partition, PartitionProduced(base_offset=0)) for key in records}
            )
        )

    def check_slices(self, records) -> Iterator[None]:  # type: ignore[override] # noqa: ARG002
        yield from ()
        return {}

    def append_slices(self, records, *, done, checked=None, **fields) -> Iterator[None]:  # type: ignore[override]
        yield from ()
        assert not checked
        self.append_records(records, done=done, **fields)

    def fetch_slices(self, params, partitions: Sequence[Any], done) -> Iterator[None]:  # type: ignore[override]
        self.asked.append(("fetch", (params, list(partitions))))
        self._tell(
            lambda: done([(key, self.results.get(key.topic_partition, PartitionFetched())) for key, _ in partitions])
        )
        yield

    def leader_log(self, partition: TopicPartition, leader_epoch: int = -1) -> Any:
        self.asked.append(("leader_log", (partition, leader_epoch)))
        return self.current.get(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def log(self, partition: TopicPartition) -> Any:
        self.asked.append(("log", partition))
        return self.current.get(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def log_dirs(self) -> Mapping[str, LogDirState]:
        return self.directories

    def disk_failed(self, log, error) -> None:  # noqa: ARG002
        self.asked.append(("disk_failed", log))

    def delete_records_slices(self, offsets, *, timeout_ms, done):
        yield from ()
        self.asked.append(("delete", (dict(offsets), timeout_ms)))
        self._tell(lambda: done({key: self.results.get(key, RecordsDeleted(low_watermark=7)) for key in offsets}))

    def alter_replica_log_dirs(self, wanted) -> Generator[None, None, Mapping[TopicPartition, ErrorCode]]:
        self.asked.append(("alter", dict(wanted)))
        yield
        return {key: self.results.get(key, ErrorCode.NONE) for key in wanted}
