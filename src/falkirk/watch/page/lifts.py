"""The steps of a lift that runs, from its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from falkirk.lift.errors import LiftError
from falkirk.lift.journal import Journal, is_over

if TYPE_CHECKING:
    from pathlib import Path

    from falkirk.lift.journal import Entry


class LiftSteps(NamedTuple):
    """A lift as its journal has it; `problem`: why it cannot be read. `target`: the level it goes to."""

    target: str | None
    is_over: bool
    entries: tuple[Entry, ...]
    problem: str | None = None


def read_lift(directory: Path) -> LiftSteps | None:
    """Read a lift's directory; None if no lift has begun there."""
    journal = Journal(directory)
    try:
        entries = tuple(journal.read())
        if not entries:
            return None
        originals = journal.originals()
    except (LiftError, OSError) as error:
        return LiftSteps(None, is_over=False, entries=(), problem=str(error))
    return LiftSteps(None if originals is None else originals.target, is_over(entries), entries)
