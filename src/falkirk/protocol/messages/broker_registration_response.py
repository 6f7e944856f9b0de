"""Generated from schemas/messages/api/62_BrokerRegistration.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class BrokerRegistrationResponse(WireMessage, gc=False):
    """BrokerRegistrationResponse: response 62, versions 0-4, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    broker_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "BrokerRegistrationResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "0+", default=-1),
        versions="0-4",
        flexible="0+",
        key=62,
    )
