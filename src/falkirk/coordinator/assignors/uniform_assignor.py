"""The `uniform` assignor: members own equally many partitions, and keep as many of theirs as that allows.

Source: KIP-848; Kafka's UniformAssignor of 4.1 and later. Its result follows from the order of the members, of the
topics and of a member's partitions. The first is the spec's; the others are ascending here, and those of Java's hash
maps in Kafka where all members read the same topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.assignors.heterogeneous_assignment import HeterogeneousAssignment
from falkirk.coordinator.assignors.homogeneous_assignment import HomogeneousAssignment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.assignors.assignor import Assignment, GroupSpec


class UniformAssignor:
    """See the module."""

    name: Final = "uniform"

    def assign(self, group: GroupSpec) -> Mapping[str, Assignment]:
        """See Assignor."""
        if not group.members:
            return {}
        if group.is_homogeneous:
            return HomogeneousAssignment(group).build()
        return HeterogeneousAssignment(group).build()
