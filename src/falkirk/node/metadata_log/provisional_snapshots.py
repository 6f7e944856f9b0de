"""Writes the snapshot that commits a lowering of metadata.version which too few voters may read, and offers it.

It is of the log as far as it goes, committed or not, so it is kept only once all of that is committed. Until then it
goes with the leadership and with the process. See docs/internals/commit-by-snapshot.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.features.downgrade_support import can_commit_lowering
from falkirk.metadata.records.errors import RecordError
from falkirk.node.effects import Fact
from falkirk.node.errors import FatalError
from falkirk.node.metadata_log.snapshot_writing import begin_snapshot, write_slices
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.raft.replication_leader import SnapshotOfferRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.effects import Effect
    from falkirk.node.metadata_log.metadata_applier import MetadataApplier
    from falkirk.node.sliced_work import SlicedWork, Slices
    from falkirk.node.step import Step
    from falkirk.raft.replica import RaftReplica
    from falkirk.storage.metadata_log import MetadataLog


class ProvisionalSnapshots:
    """At most one at a time, in the epoch in which this node leads."""

    def __init__(
        self,
        step: Step,
        raft: RaftReplica,
        log: MetadataLog,
        applier: MetadataApplier,
        *,
        effects: Callable[[Effect], None],
    ) -> None:
        self._step = step
        self._raft = raft
        self._log = log
        self._applier = applier
        self._effects = effects
        # Where the one ends that is being written or offered, and the work that writes it.
        self._current: tuple[OffsetAndEpoch, SlicedWork] | None = None

    def tick(self) -> None:
        """Begin one that is needed, discard one of a leadership that is over, keep one that is committed."""
        current = self._current
        if current is not None and not self._leads_in(current[0].epoch):
            self._discard()
        elif current is None:
            self._begin_if_needed()
        elif self._applier.applied_offset >= current[0].offset and self._log.provisional_snapshot == current[0]:
            self._current = None
            self._log.keep_provisional()
            self._emit("provisional-snapshot-kept", current[0])

    def _leads_in(self, epoch: int) -> bool:
        return self._raft.is_leader and self._raft.epoch == epoch

    def _begin_if_needed(self) -> None:
        raft, lowerings = self._raft, self._log.lowerings
        if not raft.is_leader or not lowerings or lowerings[-1].end_offset <= (raft.high_watermark or 0):
            return
        config = self._step.config
        support = {**raft.lowering_support(self._step.now_ms), config.node_id: config.downgrade_enable}
        if not config.downgrade_enable or can_commit_lowering(raft.voters.keys(), support) or self._applier.is_busy:
            return
        # So that the log before it can be deleted as a whole.
        self._log.segment_from(lowerings[-1].end_offset)
        snapshot = OffsetAndEpoch(self._log.end_offset, self._log.last_epoch)
        if raft.offer_refusal(snapshot) is None:
            self._current = snapshot, self._step.works.start("provisional snapshot", self._slices(snapshot))
            self._emit("provisional-snapshot-begins", snapshot)

    def _slices(self, snapshot: OffsetAndEpoch) -> Slices:
        """Write the snapshot and offer it; nothing of it is left if the work is cancelled, or it is refused."""
        creation = None
        try:
            image = yield from self._applier.image_before_slices(snapshot.offset)
        except RecordError as error:
            raise FatalError(f"Error replaying metadata log record: {error}") from error
        if image is not None:
            assert image.provenance.end_offset == snapshot.offset, "a transaction is not open there"
            creation = begin_snapshot(snapshot, image, self._step, self._log, self._raft, is_provisional=True)
        # The writer frees what it has written.
        del image
        if creation is None:
            self._current = None
            return
        yield from write_slices(creation)
        try:
            self._raft.offer_snapshot(snapshot)
        except SnapshotOfferRefusedError:
            # The leadership is over.
            self._forget(snapshot)
            return
        self._emit("provisional-snapshot-offered", snapshot)

    def _discard(self) -> None:
        assert self._current is not None
        snapshot, work = self._current
        work.cancel()
        self._forget(snapshot)

    def _forget(self, snapshot: OffsetAndEpoch) -> None:
        self._current = None
        self._log.discard_provisional()
        self._emit("provisional-snapshot-discarded", snapshot)

    def _emit(self, event: str, snapshot: OffsetAndEpoch) -> None:
        self._effects(Fact("info", event, {"end_offset": snapshot.offset, "epoch": snapshot.epoch}))
