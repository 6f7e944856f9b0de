"""LogsMatch: in the end all metadata logs hold the same bytes, as far back as each goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.views.replica_view import ReplicaView


class LogsMatch(Checker):
    """Compares every log on disk with the one that goes back farthest."""

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:
        """Compare the logs batch by batch."""
        if not replicas:
            return
        longest = min(replicas.values(), key=lambda replica: replica.log.start_offset)
        expected = _batches(longest)
        for replica in replicas.values():
            for base_offset, data in _batches(replica).items():
                if expected.get(base_offset) != data:
                    pair = f"nodes {longest.node_id} and {replica.node_id}"
                    raise self.violated(f"the logs of {pair} differ in the batch of offset {base_offset}")


def _batches(replica: ReplicaView) -> dict[int, bytes]:
    log = replica.log
    return {batch.base_offset: bytes(batch.data) for batch in log.batches(log.start_offset, log.end_offset)}
