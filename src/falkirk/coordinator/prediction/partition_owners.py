"""Who has which partition, by epoch: what consumer groups check when a member's assignment changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from falkirk.coordinator.loader_rules import PartitionOwnership
from falkirk.coordinator.prediction.replay_error import ReplayError

Assignment = dict[bytes, frozenset[int]]
"""Topic id -> partitions."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """What one member holds at its epoch."""

    epoch: int = 0
    assigned: Assignment = field(default_factory=dict)
    revoking: Assignment = field(default_factory=dict)


class PartitionOwners:
    """The partitions of one group that have an owner; a topic may be there without any."""

    def __init__(self, rule: PartitionOwnership) -> None:
        self._exact = rule is PartitionOwnership.EXACT
        self._unchecked = rule is PartitionOwnership.UNCHECKED
        self._epochs: dict[bytes, dict[int, int]] = {}

    def move(self, before: Ownership | None, after: Ownership | None) -> None:
        """Exchange what a member held for what it holds. Raises ReplayError, and is then as it was."""
        if self._unchecked:
            return
        touched: dict[bytes, dict[int, int] | None] = {}
        if before is not None:
            self._release(touched, before.assigned, before.epoch)
            self._release(touched, before.revoking, before.epoch)
        if after is not None:
            self._take(touched, after.assigned, after.epoch)
            self._take(touched, after.revoking, after.epoch)
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
                    raise ReplayError(f"a member gives back topic {topic.hex()}, of which nobody has a partition")
                continue
            for partition in partitions:
                if epochs.get(partition) == epoch:
                    del epochs[partition]
                elif self._exact:
                    raise ReplayError(f"a member gives back partition {topic.hex()}-{partition}, which is not its own")
            touched[topic] = epochs or None

    def _take(self, touched: dict[bytes, dict[int, int] | None], assignment: Assignment, epoch: int) -> None:
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
