"""A step of a lift, and what every way of a lift is: steps, and steps back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Step(NamedTuple):
    """One step. `is_done` asks the cluster; `act` changes it; the step is over when `act` has ended and `is_done`.

    Both may be repeated after any stop. `is_after_lowering`: the level is low already, so there is no way back.
    `hooks_s`: how long its hooks may take; infinite where a person does what they would.
    """

    name: str
    purpose: str
    is_done: Callable[[], Awaitable[bool]]
    act: Callable[[], Awaitable[None]]
    is_after_lowering: bool = False
    hooks_s: float = 0.0


class Way(Protocol):
    """How falkirk becomes the majority for a moment."""

    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the lift, in order; those before the lowering first."""
        ...

    def way_back(self) -> tuple[Step, ...]:
        """Return the steps that give the quorum back as it was, at whatever level."""
        ...
