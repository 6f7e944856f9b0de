"""ToldEpochNeverFalls: the epoch of finalized features that a node tells only rises (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.protocol.messages import ApiVersionsResponse
    from falkirk.simulation.wire_watch import Conversation


class ToldEpochNeverFalls(Checker):
    """By node and listener, over restarts too; -1 says that nothing is known. Levels of one epoch are the same."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], tuple[int, dict[str, int]]] = {}

    def negotiated(self, server: tuple[str, str], response: ApiVersionsResponse) -> None:
        """Compare with what the node told before."""
        epoch = response.finalized_features_epoch
        if epoch < 0:
            return
        levels = {each.name: each.max_version_level for each in response.finalized_features}
        before, levels_before = self._told.get(server, (-1, {}))
        if epoch < before:
            raise self.violated(f"{server[0]} ({server[1]}) tells epoch {epoch}, it told {before}")
        if epoch == before and levels != levels_before:
            raise self.violated(f"{server[0]} ({server[1]}) tells {levels} in epoch {epoch}, it told {levels_before}")
        self._told[server] = epoch, levels

    def answered(self, conversation: Conversation, api_key: int, version: int) -> None:
        """Nothing to look at."""
