"""Generated from schemas/messages/api/87_ReadShareGroupStateSummary.schema by tools/generate_messages.py: do not edit."""

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


class PartitionResult(WireStruct, gc=False):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Partition", "partition", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("StateEpoch", "state_epoch", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+", layouts=(1,)),
        Field("StartOffset", "start_offset", "int64", "0+"),
        Field("DeliveryCompleteCount", "delivery_complete_count", "int32", "1+", default=-1, ignorable=True),
    )


class ReadStateSummaryResult(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", PartitionResult, "0+", array=True),
    )


class ReadShareGroupStateSummaryResponse(WireMessage, gc=False):
    """ReadShareGroupStateSummaryResponse: response 87, versions 0-1, flexible 0+."""

    results: list[ReadStateSummaryResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ReadShareGroupStateSummaryResponse",
        "response",
        Field("Results", "results", ReadStateSummaryResult, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=87,
        layouts=2,
    )
