"""Generated from schemas/messages/api/47_OffsetDelete.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, WireMessage, WireStruct


class OffsetDeleteResponsePartition(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
    )


class OffsetDeleteResponseTopic(WireStruct, gc=False):
    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = []

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", OffsetDeleteResponsePartition, "0+", array=True),
    )


class OffsetDeleteResponse(WireMessage, gc=False):
    """OffsetDeleteResponse: response 47, versions 0, flexible none."""

    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponseTopic] = []

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "OffsetDeleteResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Topics", "topics", OffsetDeleteResponseTopic, "0+", array=True),
        versions="0",
        flexible="none",
        key=47,
    )
