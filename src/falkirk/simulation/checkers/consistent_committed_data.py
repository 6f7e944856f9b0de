"""ConsistentCommittedData: a committed offset of the metadata log holds the same batch on every replica, for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.simulation.views.replica_view import ReplicaView


class ConsistentCommittedData(Checker):
    """Logs match below their high watermarks: same batches, same epochs, same bytes."""

    def __init__(self) -> None:
        self._committed: dict[int, tuple[int, int, int]] = {}  # base offset: (end offset, epoch, CRC)
        self._checked: dict[int, int] = {}

    def started(self, replica: ReplicaView) -> None:
        """Check the whole log again once its high watermark is known: the crash may have damaged it."""
        self._checked[replica.node_id] = 0

    def after_step(self, replica: ReplicaView) -> None:
        """Compare newly committed batches with those that other replicas committed."""
        high_watermark = replica.raft.high_watermark
        checked = self._checked.get(replica.node_id, 0)
        if high_watermark is None or high_watermark <= checked:
            return
        self._checked[replica.node_id] = high_watermark
        for batch in replica.log.batches(max(checked, replica.log.start_offset), high_watermark):
            found = (batch.end_offset, batch.leader_epoch, batch.computed_crc)
            known = self._committed.setdefault(batch.base_offset, found)
            if known != found:
                raise self.violated(
                    f"node {replica.node_id} has committed (end offset, epoch, CRC) {found} at offset "
                    f"{batch.base_offset}, before it was {known}"
                )
