"""Generated from schemas/messages/metadata/01_UnregisterBrokerRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class UnregisterBrokerRecord(WireMessage, gc=False):
    """UnregisterBrokerRecord: metadata 1, versions 0, flexible 0+."""

    broker_id: int = 0
    broker_epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UnregisterBrokerRecord",
        "metadata",
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "0+"),
        versions="0",
        flexible="0+",
        key=1,
    )
