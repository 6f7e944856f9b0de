"""What one request, or one timer, comes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.coordinator.shard.outcome import Outcome, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.coordinator.classic.member import WaitingRequest
    from falkirk.coordinator.shard.outcome import CoordinatorRecord
    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.schema import WireMessage


@dataclass(slots=True)
class Decision:
    """Answers, and at most one record; the group in memory is ahead of it.

    `on_refused` is given the error of the log as clients are told it; what it gives replaces all answers.
    """

    replies: list[Reply] = field(default_factory=list)
    record: CoordinatorRecord | None = None
    on_written: Callable[[], Sequence[Reply]] | None = None
    on_refused: Callable[[ErrorCode], Sequence[Reply]] | None = None

    def answer(self, request: WaitingRequest, response: WireMessage) -> None:
        """Answer a request."""
        self.replies.append(Reply(request.token, response))

    def outcome(self) -> Outcome:
        """Give it as the runtime takes it."""
        if self.record is None:
            return Outcome(replies=self.replies)
        return Outcome(
            records=(self.record,),
            replies=self.replies,
            on_written=self.on_written,
            on_refused=self.on_refused or (lambda _: self.replies),
            is_replayed=False,
        )
