"""In-sync replicas: those that are committed, and a change of them that the controller has not answered yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.image.partition import RECOVERED

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedIsr:
    """What a leader asks the controller for. `brokers`: the new ISR, with the broker epochs that it knows, or -1.

    `added` is who joins; None where it shrinks.
    """

    brokers: Mapping[int, int]
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int
    added: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredIsr:
    """What the controller made of it."""

    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int


class IsrState:
    """`committed` is the ISR that the controller last told; `maximal` includes who may have joined already.

    A shrinking ISR counts as it was until the controller agrees: the high watermark must not rest on a wish.
    Source: Partition.scala, PartitionState.
    """

    __slots__ = ("committed", "leader_recovery_state", "maximal", "pending")

    def __init__(self, committed: frozenset[int] = frozenset(), leader_recovery_state: int = RECOVERED) -> None:
        self.committed = committed
        self.leader_recovery_state = leader_recovery_state
        self.pending: ProposedIsr | None = None
        self.maximal = committed

    def propose(self, proposed: ProposedIsr) -> None:
        """Take note of a change that is under way."""
        assert self.pending is None, "one change at a time"
        self.pending = proposed
        if proposed.added is not None:
            self.maximal = self.committed | {proposed.added}

    def take_back(self) -> None:
        """Forget the change under way: the controller says that it was not made."""
        self.pending = None
        self.maximal = self.committed
