"""Why nodes were turned away, for the operator of the active controller.

The responses to brokers have room for a number only (BrokerRegistration, BrokerHeartbeat: KIP-631); that to controllers
tells the reason (ControllerRegistration: KIP-919), but to the node that was refused alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.metadata.requests.api_error import ApiError

# Ids come from peers: one that makes them up must not fill the memory.
REMEMBERED_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request of a node to `api` that was refused with this error."""

    api: str
    node_id: int
    error: "ApiError"


class Refusals:
    """Reports each refusal once, and again when its reason has changed or the node was taken in between.

    Nodes ask until they are taken: a broker that waits would fill the log.
    """

    def __init__(self) -> None:
        self._standing: dict[tuple[str, int], ApiError] = {}
        self._news: list[Refusal] = []

    def note(self, api: str, node_id: int, error: ApiError) -> None:
        """Record a refusal; a repeated one is reported once."""
        key = (api, node_id)
        if self._standing.get(key) != error:
            self._standing.pop(key, None)
            if len(self._standing) >= REMEMBERED_MAX:
                del self._standing[next(iter(self._standing))]
            self._standing[key] = error
            self._news.append(Refusal(api, node_id, error))

    def forget(self, api: str, node_id: int) -> None:
        """Forget the node's refusal: its request was accepted."""
        self._standing.pop((api, node_id), None)

    def pop_unreported(self) -> list[Refusal]:
        """Remove and return the refusals that were not reported yet."""
        news, self._news = self._news, []
        return news
