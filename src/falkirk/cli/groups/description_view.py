"""`falkirk groups describe`: members, offsets or state of groups, in the form of kafka-consumer-groups.

Each view is a `Result` of one group; `notice` is what the tool says before it, on stderr.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.console.padded_columns import MISSING, padded, width
from falkirk.client.groups.description import DEAD, EMPTY
from falkirk.protocol.topic_partition import by_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.client.groups.description import GroupDescription, MemberDescription
    from falkirk.operations.group_offsets import PartitionLag
    from falkirk.protocol.topic_partition import TopicPartition

_REBALANCING: Final = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})


def notice(group: GroupDescription) -> str | None:
    """Return what the tool prints on stderr about a group's state before the group; None if nothing."""
    if group.state == EMPTY:
        return f"\nConsumer group '{group.group_id}' has no active members."
    if group.state in _REBALANCING:
        return f"\nWarning: Consumer group '{group.group_id}' is rebalancing."
    if group.state == DEAD:
        return f"\nError: Consumer group '{group.group_id}' does not exist."
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsView:
    """The partitions of a group with their lag."""

    group: GroupDescription
    rows: tuple[PartitionLag, ...]
    verbose: bool

    def text(self) -> Iterator[str]:
        """Yield a table behind an empty line, or nothing for a group without offsets and assignments."""
        if not self.rows:
            return
        members = [row.member for row in self.rows if row.member is not None]
        offsets = ["CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
        names = ["LEADER-EPOCH", *offsets] if self.verbose else offsets
        widths = [
            width(15, [self.group.group_id]),
            width(15, (row.partition.topic for row in self.rows)),
            10,
            *[15] * len(names),
            width(15, (member.member_id for member in members)),
            width(15, (member.host for member in members)),
            0,
        ]
        yield ""
        yield padded(["GROUP", "TOPIC", "PARTITION", *names, "CONSUMER-ID", "HOST", "CLIENT-ID"], widths)
        for row in self.rows:
            numbers = [row.offset, row.log_end_offset, row.lag]
            reader = [None] * 3 if row.member is None else [row.member.member_id, row.member.host, row.member.client_id]
            shown = [row.leader_epoch, *numbers] if self.verbose else numbers
            yield padded([self.group.group_id, *row.partition, *shown, *reader], widths)

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the group, and its partitions."""
        return group_document(self.group) | {
            "offsets": [
                {
                    "topic": row.partition.topic,
                    "partition": row.partition.partition,
                    "offset": row.offset,
                    "leader_epoch": row.leader_epoch,
                    "log_end_offset": row.log_end_offset,
                    "lag": row.lag,
                    "member_id": None if row.member is None else row.member.member_id,
                }
                for row in self.rows
            ]
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersView:
    """The members of a group; `verbose`: with current and target assignments."""

    group: GroupDescription
    verbose: bool

    def text(self) -> Iterator[str]:
        """Yield a table behind an empty line."""
        members = self.group.members
        has_instances = any(member.instance_id for member in members)
        is_mixed = {True, False} <= {member.is_upgraded for member in members}
        names = ["GROUP", "CONSUMER-ID", *["GROUP-INSTANCE-ID"] * has_instances, "HOST", "CLIENT-ID", "#PARTITIONS"]
        widths = [
            width(15, [self.group.group_id]),
            width(15, (member.member_id for member in members)),
            *[width(17, (member.instance_id for member in members))] * has_instances,
            width(15, (member.host for member in members)),
            width(15, (member.client_id for member in members)),
            15,
        ]
        if self.verbose:
            names += [
                "CURRENT-EPOCH",
                "CURRENT-ASSIGNMENT",
                "TARGET-EPOCH",
                "TARGET-ASSIGNMENT",
                *["UPGRADED"] * is_mixed,
            ]
            widths += [
                15,
                width(20, (_shown(member.assignment) for member in members)),
                15,
                width(20, (_shown(member.target or ()) for member in members)),
                *[0] * is_mixed,
            ]
        # The tool writes a blank behind the columns that always stand there.
        end = "" if self.verbose else " "
        yield ""
        yield padded(names, widths) + end
        for member in members:
            cells = [self.group.group_id, member.member_id, *[member.instance_id or ""] * has_instances]
            cells += [member.host, member.client_id, str(len(member.assignment))]
            yield padded([*cells, *(self._assignment(member, is_mixed=is_mixed) if self.verbose else ())], widths) + end

    def _assignment(self, member: MemberDescription, *, is_mixed: bool) -> list[object]:
        cells: list[object] = [
            member.member_epoch,
            _shown(member.assignment),
            self.group.target_assignment_epoch,
            _shown(member.target or ()),
        ]
        if is_mixed:
            cells.append(None if member.is_upgraded is None else str(member.is_upgraded).lower())
        return cells

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the group with its members."""
        return group_document(self.group)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    """The state of a group; `verbose`: with its epochs."""

    group: GroupDescription
    verbose: bool

    def text(self) -> Iterator[str]:
        """Yield a table behind an empty line."""
        group = self.group
        coordinator = f"{group.coordinator.endpoint}  ({group.coordinator.node_id})"
        names = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
        cells: list[object] = [group.group_id, coordinator, group.assignor or MISSING, group.state]
        widths = [width(15, [group.group_id]), width(25, [coordinator]), 20, 20]
        if self.verbose:
            names += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
            cells += [group.group_epoch, group.target_assignment_epoch]
            widths += [15, 25]
        yield ""
        yield padded([*names, "#MEMBERS"], [*widths, 0])
        yield padded([*cells, len(group.members)], [*widths, 0])

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the group with its members."""
        return group_document(self.group)


View = OffsetsView | MembersView | StateView


@dataclass(frozen=True, slots=True)
class GroupDocuments:
    """A `Result` of several groups in one document."""

    views: tuple[View, ...]

    def text(self) -> Iterator[str]:
        """Yield the views one after the other."""
        for view in self.views:
            yield from view.text()

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the groups by id."""
        return {"groups": [view.document() for view in self.views]}


def group_document(group: GroupDescription) -> dict[str, Any]:  # Any: a JSON document
    """Return a group by fields; null for what its type does not have."""
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "assignor": group.assignor or None,
        "coordinator": {"id": group.coordinator.node_id, "address": str(group.coordinator.endpoint)},
        "group_epoch": group.group_epoch,
        "target_assignment_epoch": group.target_assignment_epoch,
        "members": [
            {
                "member_id": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "host": member.host,
                "epoch": member.member_epoch,
                "upgraded": member.is_upgraded,
                "assignment": by_topic(member.assignment),
                "target_assignment": None if member.target is None else by_topic(member.target),
            }
            for member in group.members
        ],
    }


def _shown(partitions: Iterable[TopicPartition]) -> str:
    """Format partitions as `a:0,1;b:2`."""
    shown = sorted(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in by_topic(partitions).items())
    return ";".join(shown) or MISSING
