"""Replicas that move to another log directory of the broker (KIP-113, KIP-858).

A future log is copied from the current one, a bounded piece a step. When it has all, the controller is told of the
new directory; when it knows, and the future log still or again has all, it takes the place of the current one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.node.effects import Fact
from falkirk.storage.log.append import CorruptRecordsError
from falkirk.storage.log.read import FetchIsolation

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.replication.context import ReplicationContext
    from falkirk.node.replication.directory_assignments import DirectoryAssignments
    from falkirk.node.replication.partition import Partition
    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.log.log_manager import LogManager
    from falkirk.storage.log.unified_log import UnifiedLog

# What is copied in one step, of all replicas that move.
PIECE_BYTES: Final = 1024 * 1024


class _State(Enum):
    COPYING = "copying"
    TOLD = "told"
    KNOWN = "known"


@dataclass(slots=True, eq=False)
class _Move:
    partition: Partition
    state: _State = _State.COPYING


class FutureReplicas:
    """`logs` is set before anything moves. `disk_failed` is told of logs that cannot be used any more."""

    logs: LogManager

    def __init__(
        self,
        context: ReplicationContext,
        assignments: DirectoryAssignments,
        disk_failed: Callable[[UnifiedLog, OSError], None],
    ) -> None:
        self._context = context
        self._assignments = assignments
        self._disk_failed = disk_failed
        self._moves: dict[TopicPartition, _Move] = {}

    def begin(self, partition: Partition, future: UnifiedLog) -> None:
        """Begin, or go on after a start, to fill a future log. Raises OSError if the disk fails."""
        current = partition.log
        assert current is not None, "what moves is somewhere"
        _cut_what_differs(current, future)
        partition.future_log = future
        self._moves[partition.topic_partition] = _Move(partition)
        self._context.state.has_work = True

    def stop(self, key: TopicPartition) -> None:
        """Copy no more: the replica or its future log goes."""
        move = self._moves.pop(key, None)
        if move is None or move.state is _State.COPYING:
            return
        partition = move.partition
        if partition.log is None:
            self._assignments.forget(partition.topic_id_partition)
        else:
            # The controller may have taken it over already.
            self._assignments.assign(partition.topic_id_partition, self.logs.directory_id_of(partition.log))

    def is_known_elsewhere(self, key: TopicPartition) -> bool:
        """Say whether the controller has been told of the directory that a replica has not moved to yet."""
        move = self._moves.get(key)
        return move is not None and move.state is not _State.COPYING

    def tick(self) -> None:
        """Copy a piece; end the moves that are at their end."""
        left = PIECE_BYTES
        for key, move in list(self._moves.items()):
            current, future = move.partition.log, move.partition.future_log
            if current is None or future is None:
                self.stop(key)
                continue
            try:
                left -= self._copy(current, future, left)
                if future.log_end_offset == current.log_end_offset:
                    self._caught_up(key, move, future)
            except CorruptRecordsError as error:
                self._context.effects(Fact("error", "replica-not-moved", {"partition": str(key), "reason": str(error)}))
                self.stop(key)
            except OSError as error:
                # If it was not copying: which of the two it was nobody says, and the new one has less to lose.
                self.stop(key)
                self._disk_failed(future, error)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        for move in self._moves.values():
            current, future = move.partition.log, move.partition.future_log
            is_behind = current is not None and future is not None and future.log_end_offset < current.log_end_offset
            if is_behind or move.state is not _State.TOLD:
                return self._context.now_ms
        return None

    # --- Inside

    def _copy(self, current: UnifiedLog, future: UnifiedLog, bytes_max: int) -> int:
        """Copy up to about `bytes_max` (one batch whatever its size); give how many."""
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

    def _caught_up(self, key: TopicPartition, move: _Move, future: UnifiedLog) -> None:
        version = self._context.image.features.metadata_version
        if move.state is _State.COPYING and version is not None and version.directory_assignment_supported:
            move.state = _State.TOLD

            def known() -> None:
                move.state = _State.KNOWN
                self._context.state.has_work = True

            self._assignments.assign(move.partition.topic_id_partition, self.logs.directory_id_of(future), known)
        elif move.state is not _State.TOLD:
            self.logs.replace_current_by_future(key)
            move.partition.log, move.partition.future_log = future, None
            del self._moves[key]
            self._context.effects(Fact("info", "replica-moved", {"partition": str(key), "directory": future.directory}))


def _cut_what_differs(current: UnifiedLog, future: UnifiedLog) -> None:
    """Cut a future log that was there before, where it may part from the current one."""
    while (epoch := future.latest_epoch) is not None:
        end = current.end_offset_for_epoch(epoch)
        if end is None:
            future.truncate_fully_and_start_at(current.log_start_offset)
        elif end.epoch == epoch:
            future.truncate_to(end.offset)
            return
        else:
            future.truncate_to(min(end.offset, future.log_end_offset - 1))
