"""The updates that administrators requested, the responses, and the changes they made."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.protocol.messages import UpdateFeaturesResponse


class Outcome(Enum):
    """An administrator's knowledge of one feature of a request."""

    NOTHING_YET = "nothing yet"
    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """No response, or one that leaves the outcome open."""


@dataclass(slots=True, eq=False)
class RequestedUpdate:
    """One UpdateFeatures request. `levels`: by feature, below 1 to delete. `over_at_ms`: it changes nothing after that.

    `applied`: features that it changed. `doubted`: those of them that another request may have changed as well.
    """

    what: str
    levels: "Mapping[str, int]"
    is_dry_run: bool
    over_at_ms: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    applied: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)

    def of(self, name: str) -> Outcome:
        """Return the outcome of a feature."""
        return self.outcomes.get(name, Outcome.NOTHING_YET)

    def may_change(self, name: str, now_ms: int) -> bool:
        """Return whether the request may still change the feature."""
        is_known = self.of(name) in (Outcome.DONE, Outcome.REFUSED)
        return name in self.levels and not (self.is_dry_run or is_known or now_ms > self.over_at_ms)


class UpdateHistory:
    """All requests of a run. Each feature has one administrator, which sends one request at a time."""

    def __init__(self) -> None:
        self.updates: list[RequestedUpdate] = []
        # Of non-dry requests.
        self.done = 0
        self.refused = 0

    def ask(self, update: RequestedUpdate) -> None:
        """Record a request."""
        self.updates.append(update)

    def candidates(self, name: str, now_ms: int) -> Iterator[RequestedUpdate]:
        """Yield the requests that may have changed a feature, the newest first."""
        return (update for update in reversed(self.updates) if update.may_change(name, now_ms))

    def answer(self, update: RequestedUpdate, response: UpdateFeaturesResponse | None, version: int) -> None:
        """Record the response; None if there will be none."""
        names = list(update.levels)
        if response is None or response.error_code == ErrorCode.REQUEST_TIMED_OUT:
            update.outcomes = dict.fromkeys(names, Outcome.UNKNOWN)
        elif response.error_code:
            update.outcomes = dict.fromkeys(names, Outcome.REFUSED)
        elif version > 1:
            update.outcomes = dict.fromkeys(names, Outcome.DONE)
        else:
            errors = {result.feature: result.error_code for result in response.results}
            assert set(errors) == set(names), f"asked of {names}, told of {sorted(errors)}"
            update.outcomes = {name: _outcome(errors[name]) for name in names}
        if not update.is_dry_run:
            self.done += Outcome.DONE in update.outcomes.values()
            self.refused += Outcome.REFUSED in update.outcomes.values()


def _outcome(error_code: int) -> Outcome:
    if error_code == ErrorCode.NONE:
        return Outcome.DONE
    return Outcome.UNKNOWN if error_code == ErrorCode.REQUEST_TIMED_OUT else Outcome.REFUSED
