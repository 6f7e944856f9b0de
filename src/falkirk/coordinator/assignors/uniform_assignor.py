"""The `uniform` assignor: members own equally many partitions, and keep as many of theirs as balance allows.

Source: KIP-848; Kafka's UniformAssignor of 4.1 and later. The result depends on the order of members, of topics and of
a member's partitions. The first is the spec's; the others are ascending here, and those of Java's hash maps in Kafka
where all members have the same subscription.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.assignors.heterogeneous_assignment import HeterogeneousAssignment
from falkirk.coordinator.assignors.homogeneous_assignment import HomogeneousAssignment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.assignors.assignor import Assignment, GroupSpec


class UniformAssignor:
    """Uses the homogeneous builder where all members have the same subscription, else the heterogeneous one."""

    name: Final = "uniform"

    def assign(self, group: GroupSpec) -> Mapping[str, Assignment]:
        """Assign as Assignor.assign specifies."""
        if not group.members:
            return {}
        if group.is_homogeneous:
            return HomogeneousAssignment(group).build()
        return HeterogeneousAssignment(group).build()
