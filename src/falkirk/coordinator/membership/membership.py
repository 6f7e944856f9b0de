"""What members of both protocols have in common.

    request = member.due(now_ms, versions)    # to the coordinator; one at a time
    member.answered(response, now_ms)         # or: member.lost(now_ms), when the connection broke meanwhile
    member.assigned                           # what it may read now
    member.leave()                            # then `due` gives the farewell; `has_left` once that is answered

Whoever drives it asks FindCoordinator anew while `needs_coordinator`, and then says `found_coordinator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.schema import WireMessage
    from falkirk.protocol.topic_partition import TopicPartition

    # In which version the coordinator is asked, by API key; None: it does not serve that.
    Versions = Callable[[int], int | None]

RETRY_BACKOFF_MS: Final = 100

ELSEWHERE: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
"""The coordinator has to be looked up again."""
LATER: Final = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REQUEST_TIMED_OUT})


class Membership(Protocol):
    """One member of one group. `failure`: the error that ended it; it asks nothing any more."""

    group_id: str
    member_id: str
    needs_coordinator: bool
    has_left: bool
    failure: ErrorCode | None
    assigned: frozenset[TopicPartition]

    @property
    def epoch(self) -> int:
        """The generation, or the member epoch, with which offsets are committed; below 0: not a member."""
        ...

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `due` has something to ask; None while an answer is awaited, or nothing is left to do."""
        ...

    def due(self, now_ms: int, versions: Versions) -> WireMessage | None:
        """Give the request that is to be sent now; it has the fields of the version that `versions` gives."""
        ...

    def answered(self, response: WireMessage, now_ms: int) -> None:
        """Take the answer to the last request."""
        ...

    def lost(self, now_ms: int) -> None:
        """Take note that the last request was not answered, and may have been taken in or not."""
        ...

    def leave(self) -> None:
        """Wish to leave."""
        ...

    def found_coordinator(self) -> None:
        """Take note that the coordinator was looked up."""
        ...
