"""Which brokers get the replicas of new partitions: Kafka's striped placement.

Racks take turns, and so do the brokers of each rack; every partition starts one place further than the one before, so
that a few partitions already spread over racks first and brokers second. Fenced brokers come last, and never lead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.slices import Slices


@dataclass(frozen=True, slots=True)
class UsableBroker:
    """A broker that may get replicas: registered, not shutting down, with a log directory that is not cordoned."""

    broker_id: int
    rack: str | None
    is_fenced: bool


class ReplicaPlacer:
    """Places new partitions; chance decides where it starts.

    `knows_cordoned`: refusals name cordoned log directories as a possible cause, as since KIP-1066.
    """

    def __init__(self, random: Chance, *, knows_cordoned: bool) -> None:
        self._random = random
        self._knows_cordoned = knows_cordoned

    def place(
        self, partitions: int, replication_factor: int, brokers: Sequence[UsableBroker]
    ) -> Slices[list[tuple[int, ...]] | ApiError]:
        """Return the replicas of each partition, the preferred leader first; it is never a fenced broker.

        The error is INVALID_REPLICATION_FACTOR: no positive number, more than there are brokers, or all are fenced.
        """
        problem = self._problem(replication_factor, brokers)
        if problem is not None:
            return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, problem)
        racks, budget = _Racks(self._random, brokers), SliceBudget()
        placed = []
        for _ in range(partitions):
            placed.append(racks.place(replication_factor))
            if budget.spend(DECISION_VISITS):
                yield
        return placed

    def _problem(self, replication_factor: int, brokers: Sequence[UsableBroker]) -> str | None:
        if replication_factor <= 0:
            return f"Invalid replication factor {replication_factor}: the replication factor must be positive."
        if all(broker.is_fenced for broker in brokers):
            cordoned = ", or have all their log directories cordoned" if self._knows_cordoned else ""
            return f"All brokers are currently fenced{cordoned}."
        if replication_factor > len(brokers):
            cordoned = " or some brokers have all their log directories cordoned" if self._knows_cordoned else ""
            return (
                f"The target replication factor of {replication_factor} cannot be reached because only "
                f"{len(brokers)} broker(s) are registered{cordoned}."
            )
        return None


class _Brokers:
    """The fenced or the unfenced brokers of one rack, in turn: each once a partition, the first one moving on."""

    def __init__(self, random: Chance, brokers: list[int]) -> None:
        self._brokers = sorted(brokers)
        self._offset = random.randrange(0, len(brokers)) if brokers else 0
        self._placed = 0
        self._turn = 0

    def next(self, turn: int) -> int | None:
        """Return the next broker for the partition of this turn; None if all already have a replica of it."""
        count = len(self._brokers)
        if count and turn != self._turn:
            self._turn = turn
            self._placed = 0
            self._offset = (self._offset + 1) % count
        if self._placed >= count:
            return None
        broker = self._brokers[(self._placed + self._offset) % count]
        self._placed += 1
        return broker

    def shuffle(self, random: Chance) -> None:
        """Bring the brokers into another order."""
        random.shuffle(self._brokers)


class _Rack:
    def __init__(self, random: Chance, brokers: list[UsableBroker]) -> None:
        self.fenced = _Brokers(random, [broker.broker_id for broker in brokers if broker.is_fenced])
        self.unfenced = _Brokers(random, [broker.broker_id for broker in brokers if not broker.is_fenced])

    def next(self, turn: int) -> int | None:
        """Return the next broker, unfenced ones first; None if all already have a replica."""
        broker = self.unfenced.next(turn)
        return self.fenced.next(turn) if broker is None else broker

    def shuffle(self, random: Chance) -> None:
        """Bring the brokers into another order."""
        self.fenced.shuffle(random)
        self.unfenced.shuffle(random)


class _Racks:
    """The racks in turn. There is an unfenced broker, and at least as many brokers as replicas are asked for."""

    def __init__(self, random: Chance, brokers: Sequence[UsableBroker]) -> None:
        self._random = random
        by_name: dict[str, list[UsableBroker]] = {}
        for broker in brokers:
            # A broker without a rack is in a rack of all such; the first character tells it from one named "".
            by_name.setdefault("" if broker.rack is None else f"/{broker.rack}", []).append(broker)
        self._racks = [_Rack(random, by_name[name]) for name in sorted(by_name)]
        self._unfenced_count = sum(not broker.is_fenced for broker in brokers)
        self._turn = 0
        self._offset = random.randrange(0, len(self._racks))

    def place(self, replication_factor: int) -> tuple[int, ...]:
        """Return the replicas of the next partition."""
        # After so many partitions the pattern would begin anew. Turns are never counted from 0 again: brokers tell them
        # apart by their numbers. With one unfenced broker it always is the same pattern.
        if self._turn and self._turn % self._unfenced_count == 0 and self._unfenced_count > 1:
            self._random.shuffle(self._racks)
            for rack in self._racks:
                rack.shuffle(self._random)
        leader, leader_rack = self._leader()
        replicas = [leader]
        position = self._offset
        while len(replicas) < replication_factor:
            # The rack that gave the leader is passed over once: it has had its turn.
            if position == leader_rack:
                leader_rack = -1
            else:
                broker = self._racks[position].next(self._turn)
                if broker is not None:
                    replicas.append(broker)
            position = (position + 1) % len(self._racks)
        self._turn += 1
        self._offset = (self._offset + 1) % len(self._racks)
        return tuple(replicas)

    def _leader(self) -> tuple[int, int]:
        """Return an unfenced broker and the index of its rack, starting at the rack whose turn it is."""
        position = self._offset
        while (leader := self._racks[position].unfenced.next(self._turn)) is None:
            position = (position + 1) % len(self._racks)
        return leader, position
