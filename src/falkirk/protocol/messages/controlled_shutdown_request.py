"""Generated from schemas/messages/api/07_ControlledShutdown.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ControlledShutdownRequest(WireMessage, gc=False):
    """ControlledShutdownRequest: request 7, versions 0-3, flexible 3+."""

    broker_id: int = 0
    broker_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ControlledShutdownRequest",
        "request",
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "2+", default=-1, ignorable=True),
        versions="0-3",
        flexible="3+",
        key=7,
    )
