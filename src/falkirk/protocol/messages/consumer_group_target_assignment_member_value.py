"""Generated from schemas/messages/group_coordinator/07_ConsumerGroupTargetAssignmentMember.schema by tools/generate_messages.py: do not edit."""

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


class ConsumerGroupTargetAssignmentMemberValue(WireMessage, gc=False):
    """ConsumerGroupTargetAssignmentMemberValue: coordinator-value 7, versions 0, flexible 0+."""

    error: int = 0
    topic_partitions: list[TopicPartition] = []
    metadata_version: int = 0
    metadata_bytes: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupTargetAssignmentMemberValue",
        "coordinator-value",
        Field("Error", "error", "int8", "0+", layouts=(0,)),
        Field("TopicPartitions", "topic_partitions", TopicPartition, "0+", array=True),
        Field("MetadataVersion", "metadata_version", "int16", "0+", layouts=(0,)),
        Field("MetadataBytes", "metadata_bytes", "bytes", "0+", layouts=(0,)),
        versions="0",
        flexible="0+",
        key=7,
        layouts=2,
    )
