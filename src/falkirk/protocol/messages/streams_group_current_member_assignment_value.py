"""Generated from schemas/messages/group_coordinator/22_StreamsGroupCurrentMemberAssignment.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class TaskIds(WireStruct, gc=False):
    subtopology_id: str = ""
    partitions: tuple[int, ...] = ()
    assignment_epochs: tuple[int, ...] | None = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SubtopologyId", "subtopology_id", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
        Field("AssignmentEpochs", "assignment_epochs", "int32", "0+", array=True, nullable="0+", tag=0, layouts=(1,)),
    )


class StreamsGroupCurrentMemberAssignmentValue(WireMessage, gc=False):
    """StreamsGroupCurrentMemberAssignmentValue: coordinator-value 22, versions 0, flexible 0+."""

    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []
    active_tasks_pending_revocation: list[TaskIds] = []
    standby_tasks_pending_revocation: list[TaskIds] = []
    warmup_tasks_pending_revocation: list[TaskIds] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupCurrentMemberAssignmentValue",
        "coordinator-value",
        Field("MemberEpoch", "member_epoch", "int32", "0+"),
        Field("PreviousMemberEpoch", "previous_member_epoch", "int32", "0+"),
        Field("State", "state", "int8", "0+"),
        Field("ActiveTasks", "active_tasks", TaskIds, "0+", array=True),
        Field("StandbyTasks", "standby_tasks", TaskIds, "0+", array=True),
        Field("WarmupTasks", "warmup_tasks", TaskIds, "0+", array=True),
        Field("ActiveTasksPendingRevocation", "active_tasks_pending_revocation", TaskIds, "0+", array=True),
        Field("StandbyTasksPendingRevocation", "standby_tasks_pending_revocation", TaskIds, "0+", array=True),
        Field("WarmupTasksPendingRevocation", "warmup_tasks_pending_revocation", TaskIds, "0+", array=True),
        versions="0",
        flexible="0+",
        key=22,
        layouts=2,
    )
