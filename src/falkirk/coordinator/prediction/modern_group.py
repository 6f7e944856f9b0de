"""Groups with server-side assignment (consumer, share, streams), replayed record by record.

Only what later records are checked against is kept: members and their epochs, owners, and which members the target
assignment has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.partition_owners import Assignment, Ownership, PartitionOwners
from falkirk.coordinator.prediction.replay_error import ReplayError
from falkirk.coordinator.prediction.task_owners import NO_TASKS, RunningTasks, TaskOwners, running_tasks
from falkirk.coordinator.records.record_type import GroupType, Part

if TYPE_CHECKING:
    from falkirk.coordinator.records.loader_rules import LoaderRules
    from falkirk.protocol.lax_reader import Fields


_DELETED: Final = -1
# Any but _DELETED: the first one differs by release, and nothing else is asked of it.
_FIRST_TARGET_EPOCH: Final = 0
# UNREVOKED_TASKS; consumer groups number their states otherwise, but have a timeout in any case.
_UNREVOKED: Final = 2
_NOTHING: Final = Ownership()


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member; `epoch` is None for one of a streams group before its first assignment."""

    epoch: int | None
    ownership: Ownership
    has_metadata: bool = False
    must_revoke: bool = False
    """A streams group member whose tasks are to be revoked."""
    assigned_at: int = -1
    """Offset of the record with its assignment."""
    running: RunningTasks = NO_TASKS
    """For streams group members, where tasks are checked."""


class ModernGroup:
    """One group. Methods that raise ReplayError leave it unchanged."""

    def __init__(self, group_type: GroupType, rules: LoaderRules) -> None:
        self.type = group_type
        self.members: dict[str, Member] = {}
        self.target_members: set[str] = set()
        self._target_epoch = _FIRST_TARGET_EPOCH
        self._checks_removals = rules.checks_removals
        self._owners = PartitionOwners(rules.ownership)
        checks_tasks = group_type is GroupType.STREAMS and rules.checks_task_owners
        self._task_owners = TaskOwners() if checks_tasks else None

    def replay(
        self, part: Part, member_id: str, value: Fields | None, *, offset: int, any_value_makes_member: bool
    ) -> None:
        """Replay a record other than the group's own tombstone; `check_value` has accepted the value.

        Parts that nothing is checked against (subscriptions, expressions, topologies) are always accepted.
        """
        match part:
            case Part.MEMBER if value is not None:
                self._update_member(member_id, value)
            case Part.MEMBER:
                self._remove_member(member_id, must_be_there=not any_value_makes_member)
            case Part.TARGET_EPOCH if value is not None:
                self._target_epoch = value["assignment_epoch"]
            case Part.TARGET_EPOCH:
                self._delete_target_epoch()
            case Part.TARGET_MEMBER if value is not None:
                self.target_members.add(member_id)
            case Part.TARGET_MEMBER:
                self.target_members.discard(member_id)
            case Part.CURRENT_ASSIGNMENT:
                member = self.members.get(member_id)
                if member is not None or (any_value_makes_member and value is not None):
                    self._assign(member_id, member, value, offset)
                elif not any_value_makes_member:
                    raise ReplayError(f"member {member_id} is not there to be assigned anything")
            case _:
                pass

    def check_removal(self) -> None:
        """Raise ReplayError unless members, target assignment and its epoch were deleted before the group itself."""
        if self.members:
            raise ReplayError(f"the group is deleted while it has {len(self.members)} members")
        if self.target_members and self.type is not GroupType.STREAMS:
            raise ReplayError(
                f"the group is deleted while its target assignment has {len(self.target_members)} members"
            )
        if self._target_epoch != _DELETED:
            raise ReplayError("the group is deleted, but its target assignment's epoch was not")

    def stuck_members(self) -> list[tuple[str, Member]]:
        """Return the members that stop the coordinator once all records are loaded.

        It starts a timer for revoked tasks with a timeout that a streams member without metadata lacks.
        """
        if self.type is not GroupType.STREAMS:
            return []
        return [item for item in self.members.items() if item[1].must_revoke and not item[1].has_metadata]

    def _update_member(self, member_id: str, value: Fields) -> None:
        member = self.members.get(member_id)
        if self.type is GroupType.CONSUMER:
            # What a member owns is taken from it and given again by every record that speaks of it.
            before = member.ownership if member else None
            self._owners.move(before, before or _NOTHING)
        if member is None:
            epoch = None if self.type is GroupType.STREAMS else 0
            member = Member(epoch=epoch, ownership=_NOTHING)
        running = member.running
        if self._task_owners is not None:
            running = replace(running, process_id=value["process_id"])
            self._task_owners.move(member.running, running)
        self.members[member_id] = replace(member, has_metadata=True, running=running)

    def _remove_member(self, member_id: str, *, must_be_there: bool) -> None:
        member = self.members.get(member_id)
        if member is None:
            if must_be_there:
                raise ReplayError(f"member {member_id} is deleted, but not there")
            return
        if not self._checks_removals:
            del self.members[member_id]
            return
        if member.epoch is None:
            raise ReplayError(f"member {member_id} is deleted before it ever was at an epoch")
        if member.epoch != _DELETED:
            raise ReplayError(f"member {member_id} is deleted, but its current assignment was not")
        if member_id in self.target_members:
            raise ReplayError(f"member {member_id} is deleted, but its target assignment was not")
        if self.type is GroupType.CONSUMER:
            self._owners.move(member.ownership, None)
        if self._task_owners is not None:
            self._task_owners.move(member.running, None)
        del self.members[member_id]

    def _delete_target_epoch(self) -> None:
        if self.target_members and self._checks_removals:
            raise ReplayError(
                f"the target assignment's epoch is deleted while it has {len(self.target_members)} members"
            )
        self._target_epoch = _DELETED

    def _assign(self, member_id: str, member: Member | None, value: Fields | None, offset: int) -> None:
        ownership = Ownership(_DELETED) if value is None else _ownership(value)
        if self.type is GroupType.CONSUMER:
            self._owners.move(member.ownership if member else None, ownership)
        running = member.running if member else NO_TASKS
        if self._task_owners is not None:
            before, running = running, running_tasks(running.process_id, value)
            self._task_owners.move(before, running)
        # A tombstone leaves the state as it was.
        must_revoke = member is not None and member.must_revoke if value is None else value.get("state") == _UNREVOKED
        self.members[member_id] = Member(
            epoch=ownership.epoch,
            ownership=ownership,
            has_metadata=member is not None and member.has_metadata,
            must_revoke=must_revoke,
            assigned_at=offset,
            running=running,
        )


def _ownership(value: Fields) -> Ownership:
    return Ownership(
        value["member_epoch"],
        _assignment(value.get("assigned_partitions", ())),
        _assignment(value.get("partitions_pending_revocation", ())),
    )


def _assignment(topics: list[Fields] | tuple[()]) -> Assignment:
    return {topic["topic_id"]: frozenset(topic["partitions"]) for topic in topics}
