"""Generated from schemas/messages/api/04_LeaderAndIsr.schema by tools/generate_messages.py: do not edit."""

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


class LeaderAndIsrPartitionError(WireStruct, gc=False):
    topic_name: str = ""
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0-4", ignorable=True),
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
    )


class LeaderAndIsrTopicError(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partition_errors: list[LeaderAndIsrPartitionError] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "5+"),
        Field("PartitionErrors", "partition_errors", LeaderAndIsrPartitionError, "5+", array=True),
    )


class LeaderAndIsrResponse(WireMessage, gc=False):
    """LeaderAndIsrResponse: response 4, versions 0-7, flexible 4+."""

    error_code: int = 0
    partition_errors: list[LeaderAndIsrPartitionError] = []
    topics: list[LeaderAndIsrTopicError] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "LeaderAndIsrResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("PartitionErrors", "partition_errors", LeaderAndIsrPartitionError, "0-4", array=True),
        Field("Topics", "topics", LeaderAndIsrTopicError, "5+", array=True),
        versions="0-7",
        flexible="4+",
        key=4,
    )
