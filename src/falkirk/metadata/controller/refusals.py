"""Why nodes were turned away, for the operator of the active controller.

The responses to brokers have room for a number only (BrokerRegistration, BrokerHeartbeat: KIP-631); that to controllers
tells the reason (ControllerRegistration: KIP-919), but to the node that was refused alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.metadata.controller.api_error import ApiError

# Ids come from peers: one that makes them up must not fill the memory.
REMEMBERED_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a node asked of `api` was answered with this error."""

    api: str
    node_id: int
    error: ApiError


class Refusals:
    """Tells each refusal once, and again when its reason has changed or the node was taken in between.

    Nodes ask until they are taken: a broker that waits would fill the log.
    """

    def __init__(self) -> None:
        self._standing: dict[tuple[str, int], ApiError] = {}
        self._news: list[Refusal] = []

    def note(self, api: str, node_id: int, error: ApiError) -> None:
        """Take note of a refusal."""
        key = (api, node_id)
        if self._standing.get(key) != error:
            self._standing.pop(key, None)
            if len(self._standing) >= REMEMBERED_MAX:
                del self._standing[next(iter(self._standing))]
            self._standing[key] = error
            self._news.append(Refusal(api, node_id, error))

    def forget(self, api: str, node_id: int) -> None:
        """Take note that the node was taken."""
        self._standing.pop((api, node_id), None)

    def take(self) -> list[Refusal]:
        """Give what is to be told, once."""
        news, self._news = self._news, []
        return news
