"""Generated from schemas/messages/api/34_AlterReplicaLogDirs.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AlterReplicaLogDirPartitionResult(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
    )


class AlterReplicaLogDirTopicResult(WireStruct, gc=False):
    topic_name: str = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("Partitions", "partitions", AlterReplicaLogDirPartitionResult, "0+", array=True),
    )


class AlterReplicaLogDirsResponse(WireMessage, gc=False):
    """AlterReplicaLogDirsResponse: response 34, versions 0-2, flexible 2+."""

    throttle_time_ms: int = 0
    results: list[AlterReplicaLogDirTopicResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterReplicaLogDirsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Results", "results", AlterReplicaLogDirTopicResult, "0+", array=True),
        versions="0-2",
        flexible="2+",
        key=34,
    )
