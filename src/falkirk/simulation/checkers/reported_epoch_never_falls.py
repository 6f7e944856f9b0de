"""ReportedEpochNeverFalls: the epoch of the finalized features that a node advertises only rises (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.messages import ApiVersionsResponse
    from falkirk.simulation.machine.wire_watch import Conversation


_Node: TypeAlias = tuple[str, str, bytes | None]


class ReportedEpochNeverFalls(Checker):
    """Per node, disk and listener, across restarts. -1 means unknown. One epoch always has the same levels.

    A response may be older than one that left the node after its request did: it is made when the request arrives, and
    waits for the responses to earlier requests of its connection.
    A controller whose disk was wiped knows nothing of what it reported. `directory_ids`: of each controller's current
    disk, by node id.
    """

    def __init__(self, directory_ids: Mapping[int, bytes]) -> None:
        self._directory_ids = directory_ids
        # By node: the levels of each epoch that it reported.
        self._reported: dict[_Node, dict[int, dict[str, int]]] = {}
        # By request without a response: the highest epoch that was reported before it.
        self._least: dict[tuple[Conversation, int], int] = {}

    def negotiating(self, conversation: Conversation, correlation_id: int) -> None:
        """Remember what the node has advertised so far."""
        self._least[conversation, correlation_id] = max(self._of(conversation), default=-1)

    def negotiated(self, conversation: Conversation, response: ApiVersionsResponse, correlation_id: int) -> None:
        """Compare with what the node advertised before the request."""
        least = self._least.pop((conversation, correlation_id))
        epoch = response.finalized_features_epoch
        if epoch < 0:
            return
        host, listener = conversation.server
        levels = {each.name: each.max_version_level for each in response.finalized_features}
        reported = self._of(conversation)
        if epoch < least:
            raise self.violated(f"{host} ({listener}) tells epoch {epoch}, it told {least}")
        levels_before = reported.setdefault(epoch, levels)
        if levels != levels_before:
            raise self.violated(f"{host} ({listener}) tells {levels} in epoch {epoch}, it told {levels_before}")

    def _of(self, conversation: Conversation) -> dict[int, dict[str, int]]:
        node_id = int(conversation.server[0].rpartition("-")[2])
        return self._reported.setdefault((*conversation.server, self._directory_ids.get(node_id)), {})

    def answered(self, conversation: Conversation, api_key: int, version: int) -> None:
        """Check nothing."""
