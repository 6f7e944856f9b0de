"""Generated from schemas/messages/api/21_DeleteRecords.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DeleteRecordsPartitionResult(WireStruct, gc=False):
    partition_index: int = 0
    low_watermark: int = 0
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("LowWatermark", "low_watermark", "int64", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
    )


class DeleteRecordsTopicResult(WireStruct, gc=False):
    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", DeleteRecordsPartitionResult, "0+", array=True),
    )


class DeleteRecordsResponse(WireMessage, gc=False):
    """DeleteRecordsResponse: response 21, versions 0-2, flexible 2+."""

    throttle_time_ms: int = 0
    topics: list[DeleteRecordsTopicResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DeleteRecordsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Topics", "topics", DeleteRecordsTopicResult, "0+", array=True),
        versions="0-2",
        flexible="2+",
        key=21,
    )
