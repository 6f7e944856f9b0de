"""AnswersWereNegotiated: every response has a version that the server advertised on that connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.protocol.messages import ApiVersionsResponse
    from falkirk.simulation.machine.wire_watch import Conversation


class AnswersWereNegotiated(Checker):
    """Ranges change with levels and releases; a client must send ApiVersions again before it uses the new ones."""

    def negotiating(self, conversation: Conversation, correlation_id: int) -> None:
        """Check nothing."""

    def negotiated(self, conversation: Conversation, response: ApiVersionsResponse, correlation_id: int) -> None:
        """Check nothing."""

    def answered(self, conversation: Conversation, api_key: int, version: int) -> None:
        """Compare the version with the range that was advertised last."""
        lowest, highest = (conversation.ranges or {}).get(api_key, (0, -1))
        if not lowest <= version <= highest:
            reported = "nothing" if highest < 0 else f"{lowest} to {highest}"
            host, listener = conversation.server
            raise self.violated(
                f"{host} ({listener}) answered {conversation.client} in version {version} of API {api_key}, "
                f"offered was {reported}"
            )
