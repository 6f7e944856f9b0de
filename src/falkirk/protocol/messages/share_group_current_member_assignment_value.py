"""Generated from schemas/messages/group_coordinator/14_ShareGroupCurrentMemberAssignment.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import (
    ZERO_UUID,
    Field,
    MessageSchema,
    StructSchema,
    UnknownTaggedFields,
    WireMessage,
    WireStruct,
)


class TopicPartitions(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class ShareGroupCurrentMemberAssignmentValue(WireMessage, gc=False):
    """ShareGroupCurrentMemberAssignmentValue: coordinator-value 14, versions 0, flexible 0+."""

    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[TopicPartitions] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupCurrentMemberAssignmentValue",
        "coordinator-value",
        Field("MemberEpoch", "member_epoch", "int32", "0+"),
        Field("PreviousMemberEpoch", "previous_member_epoch", "int32", "0+"),
        Field("State", "state", "int8", "0+"),
        Field("AssignedPartitions", "assigned_partitions", TopicPartitions, "0+", array=True),
        versions="0",
        flexible="0+",
        key=14,
    )
