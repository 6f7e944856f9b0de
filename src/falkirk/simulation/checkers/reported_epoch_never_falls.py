"""ReportedEpochNeverFalls: the epoch of the finalized features that a node advertises only rises (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.messages import ApiVersionsResponse
    from falkirk.simulation.machine.wire_watch import Conversation


class ReportedEpochNeverFalls(Checker):
    """Per node, disk and listener, across restarts. -1 means unknown. One epoch always has the same levels.

    A controller whose disk was wiped knows nothing of what it reported. `directory_ids`: of each controller's current
    disk, by node id.
    """

    def __init__(self, directory_ids: Mapping[int, bytes]) -> None:
        self._directory_ids = directory_ids
        self._reported: dict[tuple[str, str, bytes | None], tuple[int, dict[str, int]]] = {}

    def negotiated(self, server: tuple[str, str], response: ApiVersionsResponse) -> None:
        """Compare with what the node advertised before."""
        epoch = response.finalized_features_epoch
        if epoch < 0:
            return
        levels = {each.name: each.max_version_level for each in response.finalized_features}
        node_id = int(server[0].rpartition("-")[2])
        key = (*server, self._directory_ids.get(node_id))
        before, levels_before = self._reported.get(key, (-1, {}))
        if epoch < before:
            raise self.violated(f"{server[0]} ({server[1]}) tells epoch {epoch}, it told {before}")
        if epoch == before and levels != levels_before:
            raise self.violated(f"{server[0]} ({server[1]}) tells {levels} in epoch {epoch}, it told {levels_before}")
        self._reported[key] = epoch, levels

    def answered(self, conversation: Conversation, api_key: int, version: int) -> None:
        """Check nothing."""
