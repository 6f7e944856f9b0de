"""Generated from schemas/messages/api/05_StopReplica.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class StopReplicaPartitionError(WireStruct, gc=False):
    topic_name: str = ""
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
    )


class StopReplicaResponse(WireMessage, gc=False):
    """StopReplicaResponse: response 5, versions 0-4, flexible 2+."""

    error_code: int = 0
    partition_errors: list[StopReplicaPartitionError] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StopReplicaResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("PartitionErrors", "partition_errors", StopReplicaPartitionError, "0+", array=True),
        versions="0-4",
        flexible="2+",
        key=5,
    )
