"""Generated from schemas/messages/api/07_ControlledShutdown.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class RemainingPartition(WireStruct, gc=False):
    topic_name: str = ""
    partition_index: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("PartitionIndex", "partition_index", "int32", "0+"),
    )


class ControlledShutdownResponse(WireMessage, gc=False):
    """ControlledShutdownResponse: response 7, versions 0-3, flexible 3+."""

    error_code: int = 0
    remaining_partitions: list[RemainingPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ControlledShutdownResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("RemainingPartitions", "remaining_partitions", RemainingPartition, "0+", array=True),
        versions="0-3",
        flexible="3+",
        key=7,
    )
