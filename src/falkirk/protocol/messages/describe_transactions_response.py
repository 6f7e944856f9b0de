"""Generated from schemas/messages/api/65_DescribeTransactions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class TopicData(WireStruct, gc=False):
    topic: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class TransactionState(WireStruct, gc=False):
    error_code: int = 0
    transactional_id: str = ""
    transaction_state: str = ""
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    topics: list[TopicData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("TransactionalId", "transactional_id", "string", "0+"),
        Field("TransactionState", "transaction_state", "string", "0+"),
        Field("TransactionTimeoutMs", "transaction_timeout_ms", "int32", "0+"),
        Field("TransactionStartTimeMs", "transaction_start_time_ms", "int64", "0+"),
        Field("ProducerId", "producer_id", "int64", "0+"),
        Field("ProducerEpoch", "producer_epoch", "int16", "0+"),
        Field("Topics", "topics", TopicData, "0+", array=True),
    )


class DescribeTransactionsResponse(WireMessage, gc=False):
    """DescribeTransactionsResponse: response 65, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    transaction_states: list[TransactionState] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeTransactionsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("TransactionStates", "transaction_states", TransactionState, "0+", array=True),
        versions="0",
        flexible="0+",
        key=65,
    )
