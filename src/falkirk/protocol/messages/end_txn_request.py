"""Generated from schemas/messages/api/26_EndTxn.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class EndTxnRequest(WireMessage, gc=False):
    """EndTxnRequest: request 26, versions 0-5, flexible 3+."""

    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    committed: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "EndTxnRequest",
        "request",
        Field("TransactionalId", "transactional_id", "string", "0+"),
        Field("ProducerId", "producer_id", "int64", "0+"),
        Field("ProducerEpoch", "producer_epoch", "int16", "0+"),
        Field("Committed", "committed", "bool", "0+"),
        versions="0-5",
        flexible="3+",
        key=26,
    )
