"""Tasks in the controller's queue: checks of the cluster, and requested updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.requests.api_error import ApiError
from falkirk.metadata.zookeeper.feature_update import refused
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.zookeeper.feature_update import UpdateDecision
    from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse

NOT_CONTROLLER: Final = ApiError(ErrorCode.NOT_CONTROLLER, "This is not the correct controller for this cluster.")
LATE: Final = ApiError(ErrorCode.REQUEST_TIMED_OUT, "The update was not decided in time; it will not be applied.")
UNKNOWN: Final = ApiError(
    ErrorCode.REQUEST_TIMED_OUT, "It is not known whether the update was applied: the answer of ZooKeeper was lost."
)


@dataclass(frozen=True, slots=True)
class Check:
    """Check brokers and znode: create it, ignore incompatible brokers, raise min levels."""


@dataclass(slots=True, eq=False)
class Update:
    """A request, until it is answered."""

    request: "UpdateFeaturesRequest"
    api_version: int
    answer: "Callable[[UpdateFeaturesResponse], None]"
    deadline_ms: int
    decision: "UpdateDecision | None" = None
    is_answered: bool = False

    def succeed(self, decision: UpdateDecision) -> None:
        """Answer as decided: the write stands, or nothing had to be written."""
        self.respond(decision.response())

    def refuse(self, error: ApiError) -> None:
        """Answer with a top-level error."""
        self.respond(refused(error))

    def respond(self, response: UpdateFeaturesResponse) -> None:
        """Answer, unless that was done before."""
        if not self.is_answered:
            self.is_answered = True
            self.answer(response)
