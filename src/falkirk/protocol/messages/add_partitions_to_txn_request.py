"""Generated from schemas/messages/api/24_AddPartitionsToTxn.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AddPartitionsToTxnTopic(WireStruct, gc=False):
    name: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class AddPartitionsToTxnTransaction(WireStruct, gc=False):
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    verify_only: bool = False
    topics: list[AddPartitionsToTxnTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TransactionalId", "transactional_id", "string", "4+"),
        Field("ProducerId", "producer_id", "int64", "4+"),
        Field("ProducerEpoch", "producer_epoch", "int16", "4+"),
        Field("VerifyOnly", "verify_only", "bool", "4+"),
        Field("Topics", "topics", AddPartitionsToTxnTopic, "4+", array=True),
    )


class AddPartitionsToTxnRequest(WireMessage, gc=False):
    """AddPartitionsToTxnRequest: request 24, versions 0-5, flexible 3+."""

    v3_and_below_transactional_id: str = ""
    v3_and_below_producer_id: int = 0
    v3_and_below_producer_epoch: int = 0
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
    transactions: list[AddPartitionsToTxnTransaction] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AddPartitionsToTxnRequest",
        "request",
        Field("V3AndBelowTransactionalId", "v3_and_below_transactional_id", "string", "0-3"),
        Field("V3AndBelowProducerId", "v3_and_below_producer_id", "int64", "0-3"),
        Field("V3AndBelowProducerEpoch", "v3_and_below_producer_epoch", "int16", "0-3"),
        Field("V3AndBelowTopics", "v3_and_below_topics", AddPartitionsToTxnTopic, "0-3", array=True),
        Field("Transactions", "transactions", AddPartitionsToTxnTransaction, "4+", array=True),
        versions="0-5",
        flexible="3+",
        key=24,
    )
