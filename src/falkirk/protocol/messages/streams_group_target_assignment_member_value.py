"""Generated from schemas/messages/group_coordinator/21_StreamsGroupTargetAssignmentMember.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class TaskIds(WireStruct, gc=False):
    subtopology_id: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SubtopologyId", "subtopology_id", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class StreamsGroupTargetAssignmentMemberValue(WireMessage, gc=False):
    """StreamsGroupTargetAssignmentMemberValue: coordinator-value 21, versions 0, flexible 0+."""

    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupTargetAssignmentMemberValue",
        "coordinator-value",
        Field("ActiveTasks", "active_tasks", TaskIds, "0+", array=True),
        Field("StandbyTasks", "standby_tasks", TaskIds, "0+", array=True),
        Field("WarmupTasks", "warmup_tasks", TaskIds, "0+", array=True),
        versions="0",
        flexible="0+",
        key=21,
    )
