"""What requests wait for before they are handled, besides the earlier ones of their connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """Requests that wait, and why. `reason`: what is the case meanwhile, as a clause.

    `api_keys`: of the requests that wait. None: bytes on listeners of the broker role, unread, because the versions and
    credentials with which they are read are not known either.
    """

    reason: str
    api_keys: frozenset[int] | None


NOT_SERVING: Final = Hold("the broker does not serve yet", None)
"""A broker knows no metadata before it has caught up. Source: BrokerServer.startup, which enables processing last."""


class Holds:
    """The holds of a node's connections; none at first."""

    def __init__(self) -> None:
        self._holds: list[Hold] = []
        # Of all holds together.
        self.api_keys: frozenset[int] = frozenset()
        # True while bytes on listeners of the broker role are not read.
        self.holds_bytes = False

    def set(self, hold: Hold, *, is_held: bool) -> None:
        """Begin or end a hold; what waited is handled in the next `resume` of the connections."""
        if (hold in self._holds) is is_held:
            return
        self._holds = [*self._holds, hold] if is_held else [other for other in self._holds if other is not hold]
        self.api_keys = frozenset().union(*(hold.api_keys or () for hold in self._holds))
        self.holds_bytes = any(hold.api_keys is None for hold in self._holds)

    def reason(self, api_key: int | None = None) -> str | None:
        """Return why requests of an API, or bytes if there is none, wait; None if they do not."""
        for hold in self._holds:
            if hold.api_keys is None if api_key is None else api_key in (hold.api_keys or ()):
                return hold.reason
        return None
