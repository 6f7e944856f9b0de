"""Generated from schemas/messages/group_coordinator/13_ShareGroupTargetAssignmentMember.schema by tools/generate_messages.py: do not edit."""

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


class TopicPartition(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class ShareGroupTargetAssignmentMemberValue(WireMessage, gc=False):
    """ShareGroupTargetAssignmentMemberValue: coordinator-value 13, versions 0, flexible 0+."""

    topic_partitions: list[TopicPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupTargetAssignmentMemberValue",
        "coordinator-value",
        Field("TopicPartitions", "topic_partitions", TopicPartition, "0+", array=True),
        versions="0",
        flexible="0+",
        key=13,
    )
