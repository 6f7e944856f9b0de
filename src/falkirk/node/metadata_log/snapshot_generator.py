"""Writes snapshots of the image by bytes and time, as Kafka's SnapshotGenerator, and cleans the log behind them.

A large image is written as sliced work, so that the node answers in between.

When metadata.version has been lowered, a snapshot is written at once and everything before it is deleted: an older
release could not read it (KIP-1155). What is to be done follows from the log and its snapshots alone, so a node that
was stopped halfway continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.effects import Fact
from falkirk.node.metadata_log.provisional_snapshots import ProvisionalSnapshots
from falkirk.node.metadata_log.snapshot_writing import begin_snapshot, write_slices
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.node.effects import Effect
    from falkirk.node.metadata_log.metadata_applier import MetadataApplier
    from falkirk.node.sliced_work import SlicedWork, Slices
    from falkirk.node.step import Step
    from falkirk.raft.replica import RaftReplica
    from falkirk.storage.metadata_log import MetadataLog
    from falkirk.storage.snapshot_creation import SnapshotCreation

# How often Kafka's raft client deletes old segments and snapshots.
CLEANING_INTERVAL_MS: Final = 60_000
LOWERED: Final = "metadata.version was lowered"


class SnapshotGenerator:
    """Writes at most one snapshot at a time. `lengthen_log`: appends a record if this node is the active controller."""

    def __init__(
        self,
        step: Step,
        raft: RaftReplica,
        log: MetadataLog,
        applier: MetadataApplier,
        *,
        lengthen_log: Callable[[int], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._step = step
        self._raft = raft
        self._log = log
        self._applier = applier
        self._lengthen_log = lengthen_log
        self._effects = effects
        self._provisional = ProvisionalSnapshots(step, raft, log, applier, effects=effects)
        self._last_snapshot_ms = step.now_ms
        self._cleaned_ms = step.now_ms
        # The end of the snapshot that is being written, and the work that writes it.
        self._under_way: tuple[OffsetAndEpoch, SlicedWork] | None = None
        # The least end offset of the snapshot that replaces a log which lowers metadata.version.
        self._needed_end: int | None = None

    def reset(self) -> None:
        """Start counting again: a fetched snapshot has just replaced log and image. Raises OSError."""
        self._last_snapshot_ms = self._step.now_ms
        self._abandon()

    def tick(self) -> None:
        """Begin a snapshot that is due, delete what need not be kept."""
        now_ms = self._step.now_ms
        self._provisional.tick()
        self._needed_end = self._end_behind_lowering()
        if self._needed_end is not None:
            self._pass_lowering(self._needed_end)
        if self._under_way is None:
            reason = self._reason(now_ms)
            if reason is not None:
                self._begin(reason)
        if now_ms - self._cleaned_ms >= CLEANING_INTERVAL_MS:
            self._clean()

    @property
    def next_wakeup_ms(self) -> int:
        """When the next `tick` is due."""
        return self._cleaned_ms + CLEANING_INTERVAL_MS

    def _reason(self, now_ms: int) -> str | None:
        """Return why a snapshot is due, in Kafka's words; None if it is not."""
        config, applier = self._step.config, self._applier
        bytes_max, interval_ms = (
            config.metadata_log_max_record_bytes_between_snapshots,
            config.metadata_log_max_snapshot_interval_ms,
        )
        has_open_transaction = applier.open_transaction_offset is not None
        if applier.is_busy or has_open_transaction or applier.image.features.metadata_version is None:
            return None
        if self._needed_end is not None:
            return LOWERED if applier.image.provenance.end_offset >= self._needed_end else None
        if applier.bytes_applied == 0:
            return None
        if applier.bytes_applied >= bytes_max:
            return f"we have replayed at least {bytes_max} bytes"
        if interval_ms and now_ms - self._last_snapshot_ms >= interval_ms:
            return f"we have waited at least {interval_ms // 60_000} minute(s)"
        return None

    def _begin(self, reason: str) -> None:
        applier = self._applier
        applier.bytes_applied = 0
        self._last_snapshot_ms = self._step.now_ms
        provenance = applier.image.provenance
        snapshot = OffsetAndEpoch(provenance.end_offset, provenance.epoch)
        creation = begin_snapshot(snapshot, applier.image, self._step, self._log, self._raft)
        if creation is not None:
            self._under_way = snapshot, self._step.works.start("snapshot", self._write(snapshot, creation))
            fields = {"end_offset": snapshot.offset, "epoch": snapshot.epoch, "reason": reason}
            self._effects(Fact("info", "snapshot-begins", fields))

    def _write(self, snapshot: OffsetAndEpoch, creation: SnapshotCreation) -> Slices:
        yield from write_slices(creation)
        self._under_way = None
        fields = {"end_offset": snapshot.offset, "epoch": snapshot.epoch, "records": creation.records}
        self._effects(Fact("info", "snapshot-written", fields))
        if self._needed_end is not None and snapshot.offset >= self._needed_end:
            self._log_removed(self._log.delete_before(snapshot))
        self._clean()
        self._raft.snapshot_created(snapshot)

    def _end_behind_lowering(self) -> int | None:
        """Return the least end offset of a snapshot that leaves no lowering in the log; None if there is none.

        On the leader it is also past what replicas hold that should not have fetched so far: they continue from the
        snapshot.
        """
        applied = self._applier.applied_offset
        lowered = [change for change in self._log.lowerings if change.end_offset <= applied]
        if not lowered:
            return None
        end, held_back = self._log.segment_from(lowered[-1].end_offset), self._raft.held_back_end
        return end if held_back is None else max(end, held_back + 1)

    def _pass_lowering(self, end_offset: int) -> None:
        """Make the log long enough for a snapshot with this end offset, or use an existing one."""
        latest = self._log.latest_snapshot
        if latest is not None and latest.offset >= end_offset:
            # The node was stopped after it had written it.
            self._log_removed(self._log.delete_before(latest))
            self._needed_end = None
            self._raft.snapshot_created(latest)
            return
        if self._under_way is not None and self._under_way[0].offset < end_offset:
            self._abandon()
        if self._raft.end_offset < end_offset:
            self._lengthen_log(self._step.now_ms)

    def _abandon(self) -> None:
        if self._under_way is not None:
            self._under_way[1].cancel()
            self._under_way = None

    def _clean(self) -> None:
        self._cleaned_ms = self._step.now_ms
        self._log_removed(self._log.clean(self._step.now_ms))

    def _log_removed(self, names: Iterable[str]) -> None:
        for name in names:
            self._effects(Fact("info", "metadata-file-removed", {"file": name}))
