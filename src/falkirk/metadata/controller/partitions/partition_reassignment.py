"""How a reassignment changes a partition's replicas: at its start, its completion and its cancellation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.metadata.image.partition import Partition


class Reassignment(NamedTuple):
    """A reassignment on its way: all replicas, those that go, those that come."""

    replicas: tuple[int, ...]
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()

    @classmethod
    def between(cls, current: Sequence[int], target: Sequence[int]) -> Reassignment:
        """Return the reassignment from one replica list to another; the replicas to remove stand last meanwhile."""
        removing = tuple(sorted(set(current) - set(target)))
        adding = tuple(sorted(set(target) - set(current)))
        return cls((*target, *removing), removing, adding)

    def completed(self, isr: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return (replicas, ISR) after completion; None while it cannot complete.

        All replicas that it adds must be in sync; if it adds fewer than it removes, all that stay.
        Differs from Kafka: this is the rule of 4.3, earlier releases had two others; and a replica that one
        reassignment adds and the next removes is not waited for, which 4.3 does for ever.
        """
        if not self.removing and not self.adding:
            return None
        replicas, remaining_isr = without(self.replicas, self.removing), without(isr, self.removing)
        adding = without(self.adding, self.removing)
        needed = replicas if len(adding) < len(self.removing) else adding
        if not replicas or not set(needed).issubset(remaining_isr):
            return None
        if self.removing and not remaining_isr:
            return None
        return replicas, remaining_isr


class Cancellation(NamedTuple):
    """The partition after a cancellation. `is_unclean`: no remaining replica was in sync, so data may be lost."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    is_unclean: bool

    @classmethod
    def of(cls, partition: Partition) -> Cancellation | None:
        """Call off a partition's reassignment; None if no replica would be left."""
        replicas = without(partition.replicas, partition.adding_replicas)
        isr = without(partition.isr, partition.adding_replicas)
        if isr:
            return cls(replicas, isr, is_unclean=False)
        return cls(replicas, replicas[:1], is_unclean=True) if replicas else None


def is_reassigning(partition: Partition) -> bool:
    """Return whether a reassignment of the partition is in progress."""
    return bool(partition.removing_replicas or partition.adding_replicas)


def without(replicas: Iterable[int], others: Sequence[int]) -> tuple[int, ...]:
    """Return the replicas that are not among the others, in order."""
    return tuple(replica for replica in replicas if replica not in others)
