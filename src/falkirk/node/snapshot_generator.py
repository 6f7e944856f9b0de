"""Writes snapshots of the image by bytes and time, as Kafka's SnapshotGenerator, and cleans the log behind them.

A large image is written over several steps, so that the node answers in between.

When metadata.version has been lowered there is a snapshot at once, and everything before it goes from the disk: an
older release could not read it (KIP-1155). What is to be done follows from the log and its snapshots alone, so a node
that was stopped halfway goes on where it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.writer import WriterOptions, write_values
from falkirk.node.effects import Fact
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.node.effects import Effect
    from falkirk.node.node_state import NodeState
    from falkirk.storage.metadata_log import MetadataLog
    from falkirk.storage.snapshot_creation import SnapshotCreation

# Kafka's raft client looks this often for what may be removed.
CLEANING_INTERVAL_MS: Final = 60_000
LOWERED: Final = "metadata.version was lowered"


class SnapshotGenerator:
    """At most one snapshot is in the making."""

    def __init__(self, state: NodeState, log: MetadataLog, effects: Callable[[Effect], None]) -> None:
        self._state = state
        self._log = log
        self._effects = effects
        self._last_snapshot_ms = state.now_ms
        self._cleaned_ms = state.now_ms
        self._creation: tuple[OffsetAndEpoch, SnapshotCreation] | None = None
        # Where the snapshot must end that takes the place of a log in which metadata.version is lowered.
        self._needed_end: int | None = None

    def reset(self) -> None:
        """Count anew: a fetched snapshot has just replaced log and image. Raises OSError."""
        self._last_snapshot_ms = self._state.now_ms
        self._abandon()

    def tick(self) -> None:
        """Go on with a snapshot, begin one if it is time to, remove what is no longer to be kept."""
        now_ms = self._state.now_ms
        self._needed_end = self._end_behind_lowering()
        if self._needed_end is not None:
            self._go_behind(self._needed_end)
        if self._creation is None:
            reason = self._reason(now_ms)
            if reason is not None:
                self._begin(reason)
        if self._creation is not None:
            self._continue(*self._creation)
        if now_ms - self._cleaned_ms >= CLEANING_INTERVAL_MS:
            self._clean()

    @property
    def next_wakeup_ms(self) -> int:
        """When `tick` has something to do: at once while a snapshot is in the making."""
        if self._creation is not None:
            return self._state.now_ms
        return self._cleaned_ms + CLEANING_INTERVAL_MS

    def _reason(self, now_ms: int) -> str | None:
        """Say why there should be a snapshot now, in Kafka's words; None if there should not."""
        config, applier = self._state.config, self._state.applier
        bytes_max, interval_ms = (
            config.metadata_log_max_record_bytes_between_snapshots,
            config.metadata_log_max_snapshot_interval_ms,
        )
        if applier.open_transaction_offset is not None or applier.image.features.metadata_version is None:
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
        applier, now_ms = self._state.applier, self._state.now_ms
        image = applier.image
        version = image.features.metadata_version
        assert version is not None
        applier.bytes_applied = 0
        self._last_snapshot_ms = now_ms
        provenance = image.provenance
        snapshot = OffsetAndEpoch(provenance.end_offset, provenance.epoch)
        kraft_version, voters = self._state.raft.voters_before(snapshot.offset)
        creation = self._log.begin_snapshot(
            snapshot,
            write_values(image, WriterOptions(metadata_version=version)),
            level=version.level,
            kraft_version=kraft_version,
            voters=voters,
            last_contained_log_timestamp=provenance.timestamp,
            clock=lambda: now_ms,
        )
        if creation is not None:
            self._creation = (snapshot, creation)
            fields = {"end_offset": snapshot.offset, "epoch": snapshot.epoch, "reason": reason}
            self._effects(Fact("info", "snapshot-begins", fields))

    def _continue(self, snapshot: OffsetAndEpoch, creation: SnapshotCreation) -> None:
        if creation.step():
            self._creation = None
            fields = {"end_offset": snapshot.offset, "epoch": snapshot.epoch, "records": creation.records}
            self._effects(Fact("info", "snapshot-written", fields))
            if self._needed_end is not None and snapshot.offset >= self._needed_end:
                self._tell_removed(self._log.delete_before(snapshot))
            self._clean()
            self._state.raft.snapshot_created(snapshot)

    def _end_behind_lowering(self) -> int | None:
        """Give the least end of a snapshot that lets all go in which metadata.version is lowered; None if nothing must.

        On the leader it is also behind what replicas have that should not have got so far: it leads them past it.
        """
        applied = self._state.applied_offset
        lowered = [change for change in self._log.lowerings if change.end_offset <= applied]
        if not lowered:
            return None
        end, held_back = self._log.segment_from(lowered[-1].end_offset), self._state.raft.held_back_end
        return end if held_back is None else max(end, held_back + 1)

    def _go_behind(self, end_offset: int) -> None:
        """See to it that there will be such a snapshot, and use one that is there."""
        latest = self._log.latest_snapshot
        if latest is not None and latest.offset >= end_offset:
            # The node was stopped when it had written it.
            self._tell_removed(self._log.delete_before(latest))
            self._needed_end = None
            self._state.raft.snapshot_created(latest)
            return
        if self._creation is not None and self._creation[0].offset < end_offset:
            self._abandon()
        active = self._state.serving
        if active is not None and self._state.raft.end_offset < end_offset:
            active.catch_up(self._state.now_ms)
            active.append_no_op(self._state.now_ms)

    def _abandon(self) -> None:
        if self._creation is not None:
            self._creation[1].abandon()
            self._creation = None

    def _clean(self) -> None:
        self._cleaned_ms = self._state.now_ms
        self._tell_removed(self._log.clean(self._state.now_ms))

    def _tell_removed(self, names: Iterable[str]) -> None:
        for name in names:
            self._effects(Fact("info", "metadata-file-removed", {"file": name}))
