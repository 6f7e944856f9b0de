"""What a release's coordinator does with one record while it loads a partition."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Reading(enum.StrEnum):
    """The three outcomes for a record."""

    READ = "read"
    SKIPPED = "skipped"
    """Its type is unknown there: only a warning is logged."""
    FAILS = "fails"
    """The load of the whole partition ends here, for all groups in it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reading, with the reason if it fails. READ and SKIPPED are singletons."""

    reading: Reading
    reason: str = ""

    @property
    def fails(self) -> bool:
        """True if the partition does not load with this record in it."""
        return self.reading is Reading.FAILS


READ: Final = Verdict(Reading.READ)
SKIPPED: Final = Verdict(Reading.SKIPPED)


def fails(reason: str) -> Verdict:
    """Return the verdict on a record that its reader or its replay refuses."""
    return Verdict(Reading.FAILS, reason)
