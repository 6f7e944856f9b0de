"""Generated from schemas/messages/api/22_InitProducerId.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class InitProducerIdRequest(WireMessage, gc=False):
    """InitProducerIdRequest: request 22, versions 0-6, flexible 2+."""

    transactional_id: str | None = ""
    transaction_timeout_ms: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    enable2pc: bool = False
    keep_prepared_txn: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "InitProducerIdRequest",
        "request",
        Field("TransactionalId", "transactional_id", "string", "0+", nullable="0+"),
        Field("TransactionTimeoutMs", "transaction_timeout_ms", "int32", "0+"),
        Field("ProducerId", "producer_id", "int64", "3+", default=-1),
        Field("ProducerEpoch", "producer_epoch", "int16", "3+", default=-1),
        Field("Enable2Pc", "enable2pc", "bool", "6+"),
        Field("KeepPreparedTxn", "keep_prepared_txn", "bool", "6+"),
        versions="0-6",
        flexible="2+",
        key=22,
    )
