"""Generated from schemas/messages/api/64_UnregisterBroker.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class UnregisterBrokerRequest(WireMessage, gc=False):
    """UnregisterBrokerRequest: request 64, versions 0, flexible 0+."""

    broker_id: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UnregisterBrokerRequest",
        "request",
        Field("BrokerId", "broker_id", "int32", "0+"),
        versions="0",
        flexible="0+",
        key=64,
    )
