"""Owners of partitions by epoch, against which consumer groups check changes of a member's assignment."""

from __future__ import annotations

from dataclasses import dataclass, field

from falkirk.coordinator.prediction.replay_error import ReplayError
from falkirk.coordinator.records.loader_rules import PartitionOwnership

Assignment = dict[bytes, frozenset[int]]
"""Topic id -> partitions."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """The partitions of one member at its epoch."""

    epoch: int = 0
    assigned: Assignment = field(default_factory=dict)
    revoking: Assignment = field(default_factory=dict)


class PartitionOwners:
    """The owned partitions of one group; a topic may be present without any."""

    def __init__(self, rule: PartitionOwnership) -> None:
        self._exact = rule is PartitionOwnership.EXACT
        self._unchecked = rule is PartitionOwnership.UNCHECKED
        self._epochs: dict[bytes, dict[int, int]] = {}

    def move(self, before: Ownership | None, after: Ownership | None) -> None:
        """Replace what a member owns. Raises ReplayError without having changed anything."""
        if self._unchecked:
            return
        touched: dict[bytes, dict[int, int] | None] = {}
        if before is not None:
            self._release(touched, before.assigned, before.epoch)
            self._release(touched, before.revoking, before.epoch)
        if after is not None:
            self._assign(touched, after.assigned, after.epoch)
            self._assign(touched, after.revoking, after.epoch)
        for topic, epochs in touched.items():
            if epochs is None:
                self._epochs.pop(topic, None)
            else:
                self._epochs[topic] = epochs

    def _release(self, touched: dict[bytes, dict[int, int] | None], assignment: Assignment, epoch: int) -> None:
        for topic, partitions in assignment.items():
            epochs = self._current(touched, topic)
            if epochs is None:
                if self._exact:
                    raise ReplayError(f"a member gives back topic {topic.hex()}, of which no member has a partition")
                continue
            for partition in partitions:
                if epochs.get(partition) == epoch:
                    del epochs[partition]
                elif self._exact:
                    raise ReplayError(f"a member gives back partition {topic.hex()}-{partition}, which is not its own")
            touched[topic] = epochs or None

    def _assign(self, touched: dict[bytes, dict[int, int] | None], assignment: Assignment, epoch: int) -> None:
        for topic, partitions in assignment.items():
            epochs = self._current(touched, topic)
            if epochs is None:
                epochs = {}
            for partition in partitions:
                owned_at = epochs.get(partition)
                if owned_at is not None and (self._exact or owned_at >= epoch):
                    raise ReplayError(
                        f"a member takes partition {topic.hex()}-{partition} at epoch {epoch},"
                        f" which is still owned at epoch {owned_at}"
                    )
                epochs[partition] = epoch
            touched[topic] = epochs

    def _current(self, touched: dict[bytes, dict[int, int] | None], topic: bytes) -> dict[int, int] | None:
        if topic in touched:
            return touched[topic]
        epochs = self._epochs.get(topic)
        return None if epochs is None else dict(epochs)
