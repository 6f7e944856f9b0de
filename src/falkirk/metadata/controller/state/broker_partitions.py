"""Which partitions each broker leads, follows in sync, or may come to lead; and those that want a leader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from immutables import Map

from falkirk.metadata.controller.state.partition_set import PartitionKey, PartitionSet
from falkirk.metadata.image.partition import NO_LEADER

if TYPE_CHECKING:
    from falkirk.metadata.image.partition import Partition

_NOTHING: Final = PartitionSet()
# What becomes of a key of a set: True, it comes; False, it goes.
_SetChange: TypeAlias = dict[PartitionKey, bool]


class BrokerPartitions:
    """An index of the image's partitions by broker; immutable, made anew by each change at the cost of the change.

    There is none by log directory: the replicas in a failed one are found among those that its broker has in sync.
    """

    __slots__ = ("_eligible", "_imbalanced", "_in_sync", "_leaderships", "_reassigning", "_without_leader")

    def __init__(
        self,
        in_sync: Map[int, PartitionSet] | None = None,
        eligible: Map[int, PartitionSet] | None = None,
        leaderships: Map[int, int] | None = None,
        *,
        without_leader: PartitionSet = _NOTHING,
        imbalanced: PartitionSet = _NOTHING,
        reassigning: PartitionSet = _NOTHING,
    ) -> None:
        self._in_sync: Map[int, PartitionSet] = Map() if in_sync is None else in_sync
        self._eligible: Map[int, PartitionSet] = Map() if eligible is None else eligible
        # How many partitions a broker leads; brokers that lead none are not there.
        self._leaderships: Map[int, int] = Map() if leaderships is None else leaderships
        self._without_leader = without_leader
        self._imbalanced = imbalanced
        self._reassigning = reassigning

    def in_sync(self, broker_id: int) -> PartitionSet:
        """Return the partitions that have a broker in their ISR."""
        return self._in_sync.get(broker_id, _NOTHING)

    @property
    def brokers_in_sync(self) -> list[int]:
        """The brokers that are in any ISR."""
        return sorted(self._in_sync)

    def eligible(self, broker_id: int) -> PartitionSet:
        """Return the partitions that have a broker among their eligible leader replicas."""
        return self._eligible.get(broker_id, _NOTHING)

    def without_leader(self) -> PartitionSet:
        """Return the partitions without a leader."""
        return self._without_leader

    def imbalanced(self) -> PartitionSet:
        """Return the partitions that are not led by their preferred replica."""
        return self._imbalanced

    def reassigning(self) -> PartitionSet:
        """Return the partitions with a reassignment in progress."""
        return self._reassigning

    @property
    def are_some_without_leader(self) -> bool:
        """True if `without_leader` is not empty."""
        return bool(self._without_leader)

    @property
    def are_some_imbalanced(self) -> bool:
        """True if `imbalanced` is not empty."""
        return bool(self._imbalanced)

    def leaderships(self, broker_id: int) -> int:
        """Count the partitions that a broker leads."""
        return self._leaderships.get(broker_id, 0)

    def changed_by(self, changes: PartitionChanges) -> BrokerPartitions:
        """Return the index after changes."""
        leaderships = self._leaderships
        for broker_id, change in changes.leaderships.items():
            count = leaderships.get(broker_id, 0) + change
            if count:
                leaderships = leaderships.set(broker_id, count)
            elif broker_id in leaderships:
                leaderships = leaderships.delete(broker_id)
        return BrokerPartitions(
            _changed_by_broker(self._in_sync, changes.in_sync),
            _changed_by_broker(self._eligible, changes.eligible),
            leaderships,
            without_leader=self._without_leader.changed_by(changes.without_leader),
            imbalanced=self._imbalanced.changed_by(changes.imbalanced),
            reassigning=self._reassigning.changed_by(changes.reassigning),
        )

    def __eq__(self, other: object) -> bool:
        """Compare all that is indexed."""
        return isinstance(other, BrokerPartitions) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        """Show all that is indexed."""
        return f"BrokerPartitions{self._parts()}"

    def _parts(self) -> tuple[object, ...]:
        return (
            self._in_sync,
            self._eligible,
            self._leaderships,
            self._without_leader,
            self._imbalanced,
            self._reassigning,
        )


class PartitionChanges:
    """Changes of each part of the index, collected so that each part is rebuilt once.

    A partition may be changed several times: the last change counts.
    """

    __slots__ = ("eligible", "imbalanced", "in_sync", "leaderships", "reassigning", "without_leader")

    def __init__(self) -> None:
        self.in_sync: dict[int, _SetChange] = {}
        self.eligible: dict[int, _SetChange] = {}
        self.leaderships: dict[int, int] = {}
        self.without_leader: _SetChange = {}
        self.imbalanced: _SetChange = {}
        self.reassigning: _SetChange = {}

    def add(self, key: PartitionKey, old: Partition | None, new: Partition | None) -> None:
        """Add the change of one partition; None: the partition did not exist before, or does not any more."""
        old_isr, old_elr, old_leader = ((), (), None) if old is None else _members(old)
        new_isr, new_elr, new_leader = ((), (), None) if new is None else _members(new)
        if old_isr != new_isr:
            _move(self.in_sync, key, old_isr, new_isr)
        if old_elr != new_elr:
            _move(self.eligible, key, old_elr, new_elr)
        if old_leader != new_leader:
            self._lead(key, old_leader, new_leader)
        was_imbalanced, is_imbalanced = _is_imbalanced(old), _is_imbalanced(new)
        if was_imbalanced != is_imbalanced:
            self.imbalanced[key] = is_imbalanced
        was_reassigning, is_reassigning = _is_reassigning(old), _is_reassigning(new)
        if was_reassigning != is_reassigning:
            self.reassigning[key] = is_reassigning

    def _lead(self, key: PartitionKey, old: int | None, new: int | None) -> None:
        if old == NO_LEADER:
            self.without_leader[key] = False
        elif old is not None:
            self.leaderships[old] = self.leaderships.get(old, 0) - 1
        if new == NO_LEADER:
            self.without_leader[key] = True
        elif new is not None:
            self.leaderships[new] = self.leaderships.get(new, 0) + 1


def _members(partition: Partition) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    return partition.isr, partition.eligible_leader_replicas, partition.leader


def _is_imbalanced(partition: Partition | None) -> bool:
    return partition is not None and partition.replicas[:1] != (partition.leader,)


def _is_reassigning(partition: Partition | None) -> bool:
    return partition is not None and bool(partition.adding_replicas or partition.removing_replicas)


def _move(changes: dict[int, _SetChange], key: PartitionKey, old: tuple[int, ...], new: tuple[int, ...]) -> None:
    for broker_id in old:
        if broker_id not in new:
            changes.setdefault(broker_id, {})[key] = False
    for broker_id in new:
        if broker_id not in old:
            changes.setdefault(broker_id, {})[key] = True


def _changed_by_broker(by_broker: Map[int, PartitionSet], changes: dict[int, _SetChange]) -> Map[int, PartitionSet]:
    for broker_id, change in changes.items():
        partitions = by_broker.get(broker_id, _NOTHING).changed_by(change)
        if partitions:
            by_broker = by_broker.set(broker_id, partitions)
        elif broker_id in by_broker:
            by_broker = by_broker.delete(broker_id)
    return by_broker
