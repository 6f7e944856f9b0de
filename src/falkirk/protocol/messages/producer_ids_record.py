"""Generated from schemas/messages/metadata/15_ProducerIdsRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ProducerIdsRecord(WireMessage, gc=False):
    """ProducerIdsRecord: metadata 15, versions 0, flexible 0+."""

    broker_id: int = 0
    broker_epoch: int = -1
    next_producer_id: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ProducerIdsRecord",
        "metadata",
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "0+", default=-1),
        Field("NextProducerId", "next_producer_id", "int64", "0+"),
        versions="0",
        flexible="0+",
        key=15,
    )
