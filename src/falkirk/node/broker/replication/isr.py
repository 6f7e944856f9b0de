"""The in-sync replicas of a partition: the committed ISR, and a change that the controller has not answered yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.image.partition import RECOVERED

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedIsr:
    """An ISR change. `brokers`: the new ISR with broker epochs, -1 if unknown; `added`: the replica that joins."""

    brokers: "Mapping[int, int]"
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int
    added: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredIsr:
    """The ISR as the controller has decided."""

    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int


class IsrState:
    """`committed`: the ISR that the controller last reported; `maximal`: with a replica that may have joined.

    A shrinking ISR counts in full until the controller agrees: the high watermark must not rest on a proposal. Source:
    Partition.scala, PartitionState.
    """

    __slots__ = ("committed", "leader_recovery_state", "maximal", "pending")

    def __init__(self, committed: frozenset[int] = frozenset(), leader_recovery_state: int = RECOVERED) -> None:
        self.committed = committed
        self.leader_recovery_state = leader_recovery_state
        self.pending: ProposedIsr | None = None
        self.maximal = committed

    def propose(self, proposed: ProposedIsr) -> None:
        """Record a change as pending."""
        assert self.pending is None, "one change at a time"
        self.pending = proposed
        if proposed.added is not None:
            self.maximal = self.committed | {proposed.added}

    def revert(self) -> None:
        """Drop the pending change: the controller has not made it."""
        self.pending = None
        self.maximal = self.committed
