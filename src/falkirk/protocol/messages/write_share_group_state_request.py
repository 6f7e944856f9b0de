"""Generated from schemas/messages/api/85_WriteShareGroupState.schema by tools/generate_messages.py: do not edit."""

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


class StateBatch(WireStruct, gc=False):
    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("FirstOffset", "first_offset", "int64", "0+"),
        Field("LastOffset", "last_offset", "int64", "0+"),
        Field("DeliveryState", "delivery_state", "int8", "0+"),
        Field("DeliveryCount", "delivery_count", "int16", "0+"),
    )


class PartitionData(WireStruct, gc=False):
    partition: int = 0
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    state_batches: list[StateBatch] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Partition", "partition", "int32", "0+"),
        Field("StateEpoch", "state_epoch", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
        Field("StartOffset", "start_offset", "int64", "0+"),
        Field("DeliveryCompleteCount", "delivery_complete_count", "int32", "1+", default=-1, ignorable=True),
        Field("StateBatches", "state_batches", StateBatch, "0+", array=True),
    )


class WriteStateData(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class WriteShareGroupStateRequest(WireMessage, gc=False):
    """WriteShareGroupStateRequest: request 85, versions 0-1, flexible 0+."""

    group_id: str = ""
    topics: list[WriteStateData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "WriteShareGroupStateRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("Topics", "topics", WriteStateData, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=85,
    )
