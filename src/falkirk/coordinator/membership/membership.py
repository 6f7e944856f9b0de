"""What members of both protocols have in common.

    request = member.due(now_ms, versions)    # to the coordinator; one at a time
    member.answered(response, now_ms)         # or: member.lost(now_ms), when the connection broke meanwhile
    member.assigned                           # the partitions that it may read now
    member.leave()                            # then `due` returns the last request; `has_left` once that is answered

While `needs_coordinator`, the driver sends FindCoordinator and then calls `found_coordinator`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from falkirk.protocol.schema import WireMessage
    from falkirk.protocol.topic_partition import TopicPartition

    # In which version the coordinator is asked, by API key; None: it does not serve that.
    Versions: TypeAlias = Callable[[int], int | None]

RETRY_BACKOFF_MS: Final = 100


# The coordinator has to be looked up again.
_ELSEWHERE: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
_LATER: Final = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REQUEST_TIMED_OUT})


class Membership(ABC):
    """One member of one group. `failure`: the error that ended it; it sends nothing any more."""

    def __init__(self, group_id: str, member_id: str) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.needs_coordinator = True
        self.has_left = False
        self.failure: ErrorCode | None = None
        self.assigned: frozenset[TopicPartition] = frozenset()
        self._is_leaving = False
        self._is_asking = False
        self._next_ms = 0

    @property
    @abstractmethod
    def epoch(self) -> int:
        """The generation or member epoch with which offsets are committed; below 0: not a member."""

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `due` has a request; None while a response is awaited, or nothing is left to do."""
        return None if self._is_asking or self.has_left or self.failure is not None else self._next_ms

    def due(self, now_ms: int, versions: Versions) -> WireMessage | None:
        """Return the request to send now, with the fields of the version in `versions`."""
        wakeup_ms = self.next_wakeup_ms
        if wakeup_ms is None or now_ms < wakeup_ms or self.needs_coordinator:
            return None
        if self._is_leaving and not self._is_known:
            self.has_left = True
            return None
        self._is_asking = True
        return self._farewell(versions) if self._is_leaving else self._request()

    @abstractmethod
    def answered(self, response: WireMessage, now_ms: int) -> None:
        """Apply the response to the last request."""

    def lost(self, now_ms: int) -> None:
        """Record that the last request got no response, and may or may not have been applied."""
        self._is_asking = False
        self.needs_coordinator = True
        self._next_ms = now_ms + RETRY_BACKOFF_MS

    def leave(self) -> None:
        """Begin to leave; revoke all partitions at once."""
        self._is_leaving = True
        self.assigned = frozenset()
        self._next_ms = 0

    def found_coordinator(self) -> None:
        """Record that the coordinator was looked up."""
        self.needs_coordinator = False

    @property
    @abstractmethod
    def _is_known(self) -> bool:
        """Whether the coordinator may know the member, so that leaving takes a request."""

    @abstractmethod
    def _request(self) -> WireMessage:
        """Return the next request of an active member."""

    @abstractmethod
    def _farewell(self, versions: Versions) -> WireMessage:
        """Return the request by which a member leaves."""

    def _is_put_off(self, error: int, now_ms: int) -> bool:
        """Return whether to retry the request, at this coordinator or another one."""
        if error not in _ELSEWHERE and error not in _LATER:
            return False
        self.needs_coordinator = self.needs_coordinator or error in _ELSEWHERE
        self._next_ms = now_ms + RETRY_BACKOFF_MS
        return True
