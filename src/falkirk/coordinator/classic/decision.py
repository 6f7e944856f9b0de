"""The outcome of one request or one timer of a classic group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.coordinator.runtime.outcome import Outcome, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.coordinator.classic.member import WaitingRequest
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord
    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.schema import WireMessage


@dataclass(slots=True)
class Decision:
    """Responses and at most one record; the group in memory is ahead of that record.

    `on_refused` is called with the error of the log, as clients see it; its result replaces all responses.
    """

    replies: list[Reply] = field(default_factory=list)
    record: "CoordinatorRecord | None" = None
    on_written: "Callable[[], Sequence[Reply]] | None" = None
    on_refused: "Callable[[ErrorCode], Sequence[Reply]] | None" = None

    def answer(self, request: WaitingRequest, response: WireMessage) -> None:
        """Add the response to a request."""
        self.replies.append(Reply(request.token, response))

    def outcome(self) -> Outcome:
        """Return it as an Outcome for the runtime."""
        if self.record is None:
            return Outcome(replies=self.replies)
        return Outcome(
            records=(self.record,),
            replies=self.replies,
            on_written=self.on_written,
            on_refused=self.on_refused or (lambda _: self.replies),
            is_replayed=False,
        )
