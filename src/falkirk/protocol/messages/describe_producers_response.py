"""Generated from schemas/messages/api/61_DescribeProducers.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ProducerState(WireStruct, gc=False):
    producer_id: int = 0
    producer_epoch: int = 0
    last_sequence: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int = 0
    current_txn_start_offset: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ProducerId", "producer_id", "int64", "0+"),
        Field("ProducerEpoch", "producer_epoch", "int32", "0+"),
        Field("LastSequence", "last_sequence", "int32", "0+", default=-1),
        Field("LastTimestamp", "last_timestamp", "int64", "0+", default=-1),
        Field("CoordinatorEpoch", "coordinator_epoch", "int32", "0+"),
        Field("CurrentTxnStartOffset", "current_txn_start_offset", "int64", "0+", default=-1),
    )


class PartitionResponse(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    active_producers: list[ProducerState] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("ActiveProducers", "active_producers", ProducerState, "0+", array=True),
    )


class TopicResponse(WireStruct, gc=False):
    name: str = ""
    partitions: list[PartitionResponse] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", PartitionResponse, "0+", array=True),
    )


class DescribeProducersResponse(WireMessage, gc=False):
    """DescribeProducersResponse: response 61, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    topics: list[TopicResponse] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeProducersResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Topics", "topics", TopicResponse, "0+", array=True),
        versions="0",
        flexible="0+",
        key=61,
    )
