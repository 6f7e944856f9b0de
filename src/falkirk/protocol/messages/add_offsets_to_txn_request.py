"""Generated from schemas/messages/api/25_AddOffsetsToTxn.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class AddOffsetsToTxnRequest(WireMessage, gc=False):
    """AddOffsetsToTxnRequest: request 25, versions 0-4, flexible 3+."""

    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    group_id: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AddOffsetsToTxnRequest",
        "request",
        Field("TransactionalId", "transactional_id", "string", "0+"),
        Field("ProducerId", "producer_id", "int64", "0+"),
        Field("ProducerEpoch", "producer_epoch", "int16", "0+"),
        Field("GroupId", "group_id", "string", "0+"),
        versions="0-4",
        flexible="3+",
        key=25,
    )
