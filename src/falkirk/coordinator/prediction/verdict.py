"""What a coordinator of some release does with one record while it loads a partition."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Reading(enum.StrEnum):
    """The three ways in which a record can end."""

    READ = "read"
    SKIPPED = "skipped"
    """Its type is not known there: a warning in the log, nothing else."""
    FAILS = "fails"
    """The load of the whole partition ends here, for all groups in it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reading; where it fails, why. READ and SKIPPED are always the two objects below."""

    reading: Reading
    reason: str = ""

    @property
    def fails(self) -> bool:
        """Say whether the partition would not load with this record in it."""
        return self.reading is Reading.FAILS


READ: Final = Verdict(Reading.READ)
SKIPPED: Final = Verdict(Reading.SKIPPED)


def fails(reason: str) -> Verdict:
    """Make the verdict on a record that its reader or its replay refuses."""
    return Verdict(Reading.FAILS, reason)
