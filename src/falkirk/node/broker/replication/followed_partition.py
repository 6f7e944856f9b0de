"""The fetch state of one followed partition (Kafka's PartitionFetchState)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.storage.batch_borders import leader_epochs

if TYPE_CHECKING:
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.protocol.messages.fetch_response import PartitionData
    from falkirk.storage.log.unified_log import UnifiedLog


@dataclass(slots=True, eq=False)
class FollowedPartition:
    """`fetch_offset` is fetched next; `is_truncating`: truncate first, because the log has no leader epochs.

    `lag`: how many committed records were missing after the last fetch; None: nothing was fetched yet.

    Methods raise OSError if the disk fails.
    """

    partition: "HostedPartition"
    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int | None
    is_truncating: bool
    delayed_until_ms: int = 0
    lag: int | None = None

    @classmethod
    def start(cls, partition: HostedPartition) -> FollowedPartition:
        """Start at the log's end or, without leader epochs, at the high watermark."""
        log = partition.log
        assert log is not None, "only partitions with a log are fetched"
        epoch = log.latest_epoch
        return cls(
            partition,
            partition.leader_epoch,
            log.high_watermark if epoch is None else log.log_end_offset,
            epoch,
            is_truncating=epoch is None and log.log_end_offset != log.high_watermark,
        )

    def needs_sync(self, data: PartitionData) -> bool:
        """Return whether `apply` truncates, or writes a leader epoch: the disk may need a while for it."""
        if data.error_code:
            return False
        if data.diverging_epoch.epoch >= 0:
            return True
        return any(epoch != self.last_fetched_epoch for epoch in leader_epochs(memoryview(data.records or b"")))

    def apply(self, data: PartitionData) -> None:
        """Append the fetched records, or truncate the log where it diverges from the leader's.

        Raises CorruptRecordsError for records that do not fit.
        """
        log = self._log
        diverging = data.diverging_epoch
        if diverging.epoch >= 0:
            self._truncate(_truncation_offset(log, diverging.epoch, diverging.end_offset, self.fetch_offset))
            return
        assert self.fetch_offset == log.log_end_offset, "only fetches append to a follower's log"
        self.partition.append_as_follower(data.records or b"", data.high_watermark, data.log_start_offset)
        self.fetch_offset = log.log_end_offset
        self.last_fetched_epoch = log.latest_epoch
        self.lag = max(0, data.high_watermark - self.fetch_offset)

    def truncate_to_high_watermark(self) -> None:
        """Truncate to the high watermark: without leader epochs nothing better is known."""
        self._truncate(self.fetch_offset)

    def restart(self, offset: int, *, is_empty: bool) -> None:
        """Continue at `offset`, with an empty log or with the log truncated there."""
        if is_empty:
            self.partition.truncate_fully_and_start_at(offset)
            self.fetch_offset, self.last_fetched_epoch = offset, None
        else:
            self._truncate(offset)

    @property
    def _log(self) -> UnifiedLog:
        log = self.partition.log
        assert log is not None, "a partition without a log is not fetched"
        return log

    def _truncate(self, offset: int) -> None:
        log = self._log
        self.partition.truncate_to(offset)
        self.is_truncating = False
        self.fetch_offset = log.log_end_offset
        self.last_fetched_epoch = log.latest_epoch


def _truncation_offset(log: UnifiedLog, leader_epoch: int, leader_end_offset: int, fetch_offset: int) -> int:
    """Return where to truncate: at the lower end of the leader's largest epoch not above ours, here or there (KIP-279).

    A follower that does not know that epoch truncates to the end of its own next lower one, and fetches again.
    """
    if leader_end_offset < 0:
        return fetch_offset
    own = log.end_offset_for_epoch(leader_epoch)
    end_offset = log.log_end_offset
    if own is None:
        return min(leader_end_offset, end_offset)
    if own.epoch != leader_epoch:
        return min(own.offset, end_offset)
    return min(own.offset, leader_end_offset, end_offset)
