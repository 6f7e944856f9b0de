"""Generated from schemas/messages/api/84_ReadShareGroupState.schema by tools/generate_messages.py: do not edit."""

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


class PartitionResult(WireStruct, gc=False):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    state_epoch: int = 0
    start_offset: int = 0
    state_batches: list[StateBatch] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Partition", "partition", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("StateEpoch", "state_epoch", "int32", "0+"),
        Field("StartOffset", "start_offset", "int64", "0+"),
        Field("StateBatches", "state_batches", StateBatch, "0+", array=True),
    )


class ReadStateResult(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", PartitionResult, "0+", array=True),
    )


class ReadShareGroupStateResponse(WireMessage, gc=False):
    """ReadShareGroupStateResponse: response 84, versions 0, flexible 0+."""

    results: list[ReadStateResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ReadShareGroupStateResponse",
        "response",
        Field("Results", "results", ReadStateResult, "0+", array=True),
        versions="0",
        flexible="0+",
        key=84,
    )
