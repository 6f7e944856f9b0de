"""Replicas that move to another log directory of the broker (KIP-113, KIP-858).

A future log is copied from the current one, a bounded piece per step. When it has caught up, the new directory is
reported to the controller; when that is confirmed, and the future log has still caught up, it replaces the current one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.node.effects import Fact
from falkirk.storage.log.append import CorruptRecordsError
from falkirk.storage.log.read import FetchIsolation

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.directory_assignments import DirectoryAssignments
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.node.broker.replication.replication_quotas import ReplicationQuota
    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.log.log_manager import LogManager
    from falkirk.storage.log.unified_log import UnifiedLog

# Copied per step, for all moving replicas together.
PIECE_BYTES: Final = 1024 * 1024

MOVES_AT_ONCE: Final = 500
"""How many moves one step looks at."""
MOVES_POLL_MS: Final = 100
"""How long after a step that has found nothing to do for these the next one looks at others."""


class _State(Enum):
    COPYING = "copying"
    REPORTED = "reported"
    CONFIRMED = "confirmed"


@dataclass(slots=True, eq=False)
class _Move:
    partition: "HostedPartition"
    state: _State = _State.COPYING


class FutureReplicas:
    """`logs` is set before anything moves. `disk_failed` is called with logs that cannot be used any more.

    `quota`: while its rate is exceeded, nothing is copied.
    """

    logs: "LogManager"

    def __init__(
        self,
        context: ReplicationContext,
        assignments: DirectoryAssignments,
        quota: ReplicationQuota,
        disk_failed: Callable[[UnifiedLog, OSError], None],
    ) -> None:
        self._context = context
        self._assignments = assignments
        self._quota = quota
        # When the quota is measured again after it was exceeded.
        self._throttled_until_ms = 0
        self._disk_failed = disk_failed
        self._moves: dict[TopicPartition, _Move] = {}

    def begin(self, partition: HostedPartition, future: UnifiedLog) -> None:
        """Begin to fill a future log, or continue after a restart. Raises OSError if the disk fails."""
        current = partition.log
        assert current is not None, "a moving replica has a log"
        _truncate_divergence(current, future)
        partition.future_log = future
        self._moves[partition.topic_partition] = _Move(partition)
        self._context.wake()

    def stop(self, key: TopicPartition) -> None:
        """Stop copying: the replica or its future log is deleted."""
        move = self._moves.pop(key, None)
        if move is None or move.state is _State.COPYING:
            return
        partition = move.partition
        if partition.log is None:
            self._assignments.forget(partition.topic_id_partition)
        else:
            # The controller may have accepted the target already.
            self._assignments.assign(partition.topic_id_partition, self.logs.directory_id_of(partition.log))

    def moving(self) -> list[HostedPartition]:
        """Return the replicas that move."""
        return [move.partition for move in self._moves.values()]

    def has_reported_target(self, key: TopicPartition) -> bool:
        """Return whether the target directory of a replica that still moves was reported to the controller."""
        move = self._moves.get(key)
        return move is not None and move.state is not _State.COPYING

    def tick(self) -> None:
        """Copy a piece, and complete moves that have caught up."""
        left = 0 if self._is_throttled() else PIECE_BYTES
        for key, move in list(islice(self._moves.items(), MOVES_AT_ONCE)):
            if self._moves.get(key) is not move:
                # It has ended with the directory of one before it.
                continue
            if len(self._moves) > MOVES_AT_ONCE:
                # The next tick begins with others.
                self._moves[key] = self._moves.pop(key)
            current, future = move.partition.log, move.partition.future_log
            if current is None or future is None:
                self.stop(key)
                continue
            try:
                copied = self._copy(current, future, left)
                self._quota.record(copied)
                left -= copied
                if future.log_end_offset == current.log_end_offset:
                    self._caught_up(key, move, current, future)
            except CorruptRecordsError as error:
                self._context.effects(Fact("error", "replica-not-moved", {"partition": str(key), "reason": str(error)}))
                self.stop(key)
            except OSError as os_error:
                # Which log failed is unknown unless it was copying; the future one is expendable.
                self.stop(key)
                self._disk_failed(future, os_error)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        for move in islice(self._moves.values(), MOVES_AT_ONCE):
            current, future = move.partition.log, move.partition.future_log
            is_behind = current is not None and future is not None and future.log_end_offset < current.log_end_offset
            if is_behind or move.state is not _State.REPORTED:
                return max(self._context.now_ms, self._throttled_until_ms)
        return self._context.now_ms + MOVES_POLL_MS if len(self._moves) > MOVES_AT_ONCE else None

    # --- Inside

    def _is_throttled(self) -> bool:
        if not self._moves or not self._quota.is_exceeded:
            return False
        self._throttled_until_ms = self._context.now_ms + self._context.settings.replica_fetch_backoff_ms
        return True

    def _copy(self, current: UnifiedLog, future: UnifiedLog, bytes_max: int) -> int:
        """Copy up to about `bytes_max` (at least one batch); return the number of bytes."""
        if future.log_end_offset < current.log_start_offset:
            future.truncate_fully_and_start_at(current.log_start_offset)
        copied = 0
        while future.log_end_offset < current.log_end_offset and copied < bytes_max:
            try:
                read = current.read(
                    future.log_end_offset, bytes_max - copied, FetchIsolation.LOG_END, is_one_batch_needed=copied == 0
                )
            except OSError as error:
                self._disk_failed(current, error)
                return copied
            if not read.records or future.append_as_follower(read.records) is None:
                break
            copied += len(read.records)
        future.update_high_watermark(current.high_watermark)
        if future.log_start_offset < current.log_start_offset <= future.high_watermark:
            future.increment_log_start_offset(current.log_start_offset)
        return copied

    def _caught_up(self, key: TopicPartition, move: _Move, current: UnifiedLog, future: UnifiedLog) -> None:
        version = self._context.image.features.metadata_version
        if move.state is _State.COPYING and version is not None and version.directory_assignment_supported:
            move.state = _State.REPORTED

            def confirmed() -> None:
                move.state = _State.CONFIRMED
                self._context.wake()

            self._assignments.assign(move.partition.topic_id_partition, self.logs.directory_id_of(future), confirmed)
        elif move.state is not _State.REPORTED:
            future.take_epochs(current)
            self.logs.replace_current_by_future(key)
            move.partition.log, move.partition.future_log = future, None
            del self._moves[key]
            self._context.effects(Fact("info", "replica-moved", {"partition": str(key), "directory": future.directory}))


def _truncate_divergence(current: UnifiedLog, future: UnifiedLog) -> None:
    """Truncate an existing future log to where it cannot diverge from the current one."""
    while (epoch := future.latest_epoch) is not None:
        end = current.end_offset_for_epoch(epoch)
        if end is None:
            future.truncate_fully_and_start_at(current.log_start_offset)
        elif end.epoch == epoch:
            future.truncate_to(end.offset)
            return
        else:
            future.truncate_to(min(end.offset, future.log_end_offset - 1))
