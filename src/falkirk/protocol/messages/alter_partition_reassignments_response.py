"""Generated from schemas/messages/api/45_AlterPartitionReassignments.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ReassignablePartitionResponse(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
    )


class ReassignableTopicResponse(WireStruct, gc=False):
    name: str = ""
    partitions: list[ReassignablePartitionResponse] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", ReassignablePartitionResponse, "0+", array=True),
    )


class AlterPartitionReassignmentsResponse(WireMessage, gc=False):
    """AlterPartitionReassignmentsResponse: response 45, versions 0-1, flexible 0+."""

    throttle_time_ms: int = 0
    allow_replication_factor_change: bool = True
    error_code: int = 0
    error_message: str | None = ""
    responses: list[ReassignableTopicResponse] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterPartitionReassignmentsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field(
            "AllowReplicationFactorChange",
            "allow_replication_factor_change",
            "bool",
            "1+",
            default=True,
            ignorable=True,
        ),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("Responses", "responses", ReassignableTopicResponse, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=45,
    )
