"""Generated from schemas/messages/api/56_AlterPartition.schema by tools/generate_messages.py: do not edit."""

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


class PartitionData(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    leader_id: int = 0
    leader_epoch: int = 0
    isr: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    partition_epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("LeaderId", "leader_id", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
        Field("Isr", "isr", "int32", "0+", array=True),
        Field("LeaderRecoveryState", "leader_recovery_state", "int8", "1+", ignorable=True),
        Field("PartitionEpoch", "partition_epoch", "int32", "0+"),
    )


class TopicData(WireStruct, gc=False):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0-1", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "2+", ignorable=True),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class AlterPartitionResponse(WireMessage, gc=False):
    """AlterPartitionResponse: response 56, versions 0-3, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    topics: list[TopicData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterPartitionResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("Topics", "topics", TopicData, "0+", array=True),
        versions="0-3",
        flexible="0+",
        key=56,
    )
