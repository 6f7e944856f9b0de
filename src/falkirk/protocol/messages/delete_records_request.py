"""Generated from schemas/messages/api/21_DeleteRecords.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DeleteRecordsPartition(WireStruct, gc=False):
    partition_index: int = 0
    offset: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("Offset", "offset", "int64", "0+"),
    )


class DeleteRecordsTopic(WireStruct, gc=False):
    name: str = ""
    partitions: list[DeleteRecordsPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", DeleteRecordsPartition, "0+", array=True),
    )


class DeleteRecordsRequest(WireMessage, gc=False):
    """DeleteRecordsRequest: request 21, versions 0-2, flexible 2+."""

    topics: list[DeleteRecordsTopic] = []
    timeout_ms: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DeleteRecordsRequest",
        "request",
        Field("Topics", "topics", DeleteRecordsTopic, "0+", array=True),
        Field("TimeoutMs", "timeout_ms", "int32", "0+"),
        versions="0-2",
        flexible="2+",
        key=21,
    )
