"""Generated from schemas/messages/api/67_AllocateProducerIds.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class AllocateProducerIdsRequest(WireMessage, gc=False):
    """AllocateProducerIdsRequest: request 67, versions 0, flexible 0+."""

    broker_id: int = 0
    broker_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AllocateProducerIdsRequest",
        "request",
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "0+", default=-1),
        versions="0",
        flexible="0+",
        key=67,
    )
