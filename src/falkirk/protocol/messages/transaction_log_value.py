"""Generated from schemas/messages/transaction_coordinator/00_TransactionLog.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class PartitionsSchema(WireStruct, gc=False):
    topic: str = ""
    partition_ids: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0+"),
        Field("PartitionIds", "partition_ids", "int32", "0+", array=True),
    )


class TransactionLogValue(WireMessage, gc=False):
    """TransactionLogValue: coordinator-value 0, versions 0-1, flexible 1+."""

    producer_id: int = 0
    previous_producer_id: int = -1
    next_producer_id: int = -1
    producer_epoch: int = 0
    next_producer_epoch: int = -1
    transaction_timeout_ms: int = 0
    transaction_status: int = 0
    transaction_partitions: list[PartitionsSchema] | None = []
    transaction_last_update_timestamp_ms: int = 0
    transaction_start_timestamp_ms: int = 0
    client_transaction_version: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "TransactionLogValue",
        "coordinator-value",
        Field("ProducerId", "producer_id", "int64", "0+"),
        Field("PreviousProducerId", "previous_producer_id", "int64", "1+", tag=0, default=-1, layouts=(1, 2)),
        Field("NextProducerId", "next_producer_id", "int64", "1+", tag=1, default=-1, layouts=(1, 2)),
        Field("ProducerEpoch", "producer_epoch", "int16", "0+"),
        Field("NextProducerEpoch", "next_producer_epoch", "int16", "1+", tag=3, default=-1, layouts=(2,)),
        Field("TransactionTimeoutMs", "transaction_timeout_ms", "int32", "0+"),
        Field("TransactionStatus", "transaction_status", "int8", "0+"),
        Field("TransactionPartitions", "transaction_partitions", PartitionsSchema, "0+", array=True, nullable="0+"),
        Field("TransactionLastUpdateTimestampMs", "transaction_last_update_timestamp_ms", "int64", "0+"),
        Field("TransactionStartTimestampMs", "transaction_start_timestamp_ms", "int64", "0+"),
        Field("ClientTransactionVersion", "client_transaction_version", "int16", "1+", tag=2, layouts=(1, 2)),
        versions="0-1",
        flexible="1+",
        key=0,
        layouts=3,
    )
