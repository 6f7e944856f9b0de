"""Writes snapshots of the image by bytes and time, as Kafka's SnapshotGenerator, and cleans the log behind them.

The records of a large image are made over several steps, so that the node answers in between; the file is written,
synced and named in one.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.metadata.writer import WriterOptions, write_values
from falkirk.node.effects import Fact
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.effects import Effect
    from falkirk.node.node_state import NodeState
    from falkirk.storage.metadata_log import MetadataLog

# About 10 ms of work.
VALUES_PER_STEP: Final = 10_000
# Kafka's raft client looks this often for what may be removed.
CLEANING_INTERVAL_MS: Final = 60_000


class SnapshotGenerator:
    """At most one snapshot is in the making."""

    def __init__(self, state: NodeState, log: MetadataLog, effects: Callable[[Effect], None]) -> None:
        self._state = state
        self._log = log
        self._effects = effects
        self._last_snapshot_ms = state.now_ms
        self._cleaned_ms = state.now_ms
        self._image: MetadataImage | None = None
        self._values: list[bytes] = []
        self._rest: Iterator[bytes] = iter(())

    def reset(self) -> None:
        """Count anew: a snapshot was just read."""
        self._last_snapshot_ms = self._state.now_ms
        self._image = None

    def tick(self) -> None:
        """Go on with a snapshot, begin one if it is time to, remove what is no longer to be kept."""
        now_ms = self._state.now_ms
        if self._image is None:
            reason = self._reason(now_ms)
            if reason is not None:
                self._begin(reason)
        if self._image is not None:
            self._continue(self._image)
        if now_ms - self._cleaned_ms >= CLEANING_INTERVAL_MS:
            self._clean()

    @property
    def next_wakeup_ms(self) -> int:
        """When `tick` has something to do: at once while a snapshot is in the making."""
        if self._image is not None:
            return self._state.now_ms
        return self._cleaned_ms + CLEANING_INTERVAL_MS

    def _reason(self, now_ms: int) -> str | None:
        """Say why there should be a snapshot now, in Kafka's words; None if there should not."""
        config, applier = self._state.config, self._state.applier
        bytes_max, interval_ms = (
            config.metadata_log_max_record_bytes_between_snapshots,
            config.metadata_log_max_snapshot_interval_ms,
        )
        if applier.bytes_applied == 0 or applier.open_transaction_offset is not None:
            return None
        if applier.image.features.metadata_version is None:
            return None
        if applier.bytes_applied >= bytes_max:
            return f"we have replayed at least {bytes_max} bytes"
        if interval_ms and now_ms - self._last_snapshot_ms >= interval_ms:
            return f"we have waited at least {interval_ms // 60_000} minute(s)"
        return None

    def _begin(self, reason: str) -> None:
        applier = self._state.applier
        image = applier.image
        version = image.features.metadata_version
        assert version is not None
        applier.bytes_applied = 0
        self._last_snapshot_ms = self._state.now_ms
        self._image = image
        self._values = []
        self._rest = write_values(image, WriterOptions(metadata_version=version))
        provenance = image.provenance
        fields = {"end_offset": provenance.end_offset, "epoch": provenance.epoch, "reason": reason}
        self._effects(Fact("info", "snapshot-begins", fields))

    def _continue(self, image: MetadataImage) -> None:
        added = list(islice(self._rest, VALUES_PER_STEP))
        self._values += added
        if len(added) == VALUES_PER_STEP:
            return
        values, self._values, self._image = self._values, [], None
        snapshot = OffsetAndEpoch(image.provenance.end_offset, image.provenance.epoch)
        raft, now_ms = self._state.raft, self._state.now_ms
        kraft_version, voters = raft.voters_before(snapshot.offset)
        is_new = self._log.create_snapshot(
            snapshot,
            values,
            kraft_version=kraft_version,
            voters=voters,
            last_contained_log_timestamp=image.provenance.timestamp,
            clock=lambda: now_ms,
        )
        if is_new:
            raft.snapshot_created(snapshot)
            fields = {"end_offset": snapshot.offset, "epoch": snapshot.epoch, "records": len(values)}
            self._effects(Fact("info", "snapshot-written", fields))
            self._clean()

    def _clean(self) -> None:
        self._cleaned_ms = self._state.now_ms
        for name in self._log.clean(self._state.now_ms):
            self._effects(Fact("info", "metadata-file-removed", {"file": name}))
