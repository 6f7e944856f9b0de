"""The faults of a run: a random subset of kinds for each seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.chance import Chance

POWER_LOSSES: Final = "power losses"
REPEATED_REQUESTS: Final = "repeated requests"
WIPED_DISKS: Final = "wiped disks"
KINDS: Final = (
    "slow network",
    "broken connections",
    REPEATED_REQUESTS,
    "cut writes",
    "partitions",
    "one-way partitions",
    "crashes",
    "crashes at a change on disk",
    "freezes",
    "clock jumps",
    "disk errors",
    "restarts",
    WIPED_DISKS,
)
"""Kinds that any cluster survives. A crash ends only the process: everything it wrote stays. Power losses are added
where brokers hold data. `restarts` are controlled shutdowns and starts. Disks are wiped only where the quorum
survives it: of one voter at a time, and only after the previous one has been replaced.
"""

ROTTEN_METADATA: Final = "bit rot of metadata"
ROTTEN_DATA: Final = "bit rot of data"
CLOCKS_SET_BACK: Final = "clocks set back"
SLOW_DISKS: Final = "slow disks"
WORN: Final = (ROTTEN_METADATA, ROTTEN_DATA, CLOCKS_SET_BACK, SLOW_DISKS)
"""Kinds of worn hardware, which no seed chooses by itself, so that the histories of seeds stay what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """The faults that may occur in a run. Times in ms; `interval_ms`: mean time between two events of any kind."""

    kinds: frozenset[str]
    interval_ms: int
    downtime_ms_max: int = 5000

    @classmethod
    def of(cls, chance: Chance) -> FaultPlan:
        """Choose a subset; one run in eight has no faults, one in eight all of them."""
        draw = chance.random()
        if draw < 0.125:
            kinds: Sequence[str] = ()
        elif draw > 0.875:
            kinds = KINDS
        else:
            share = chance.random()
            kinds = [kind for kind in KINDS if chance.random() < share]
        return cls(kinds=frozenset(kinds), interval_ms=chance.choice((300, 800, 2000)))

    def __str__(self) -> str:
        """Return the kinds in the order of the fault model."""
        chosen = ", ".join(kind for kind in (*KINDS, POWER_LOSSES, *WORN) if kind in self.kinds) or "none"
        return f"{chosen}; every {self.interval_ms} ms"
