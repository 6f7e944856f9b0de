"""AnswersWereNegotiated: what is answered was asked in a version that the server had offered on that connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.protocol.messages import ApiVersionsResponse
    from falkirk.simulation.wire_watch import Conversation


class AnswersWereNegotiated(Checker):
    """Ranges change when levels and releases do; who was told the old ones has to ask again before it uses others."""

    def negotiated(self, server: tuple[str, str], response: ApiVersionsResponse) -> None:
        """Nothing to look at."""

    def answered(self, conversation: Conversation, api_key: int, version: int) -> None:
        """Compare with what was told last."""
        lowest, highest = (conversation.ranges or {}).get(api_key, (0, -1))
        if not lowest <= version <= highest:
            told = "nothing" if highest < 0 else f"{lowest} to {highest}"
            host, listener = conversation.server
            raise self.violated(
                f"{host} ({listener}) answered {conversation.client} in version {version} of API {api_key}, "
                f"offered was {told}"
            )
