"""Generated from schemas/messages/api/40_ExpireDelegationToken.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ExpireDelegationTokenRequest(WireMessage, gc=False):
    """ExpireDelegationTokenRequest: request 40, versions 0-2, flexible 2+."""

    hmac: bytes = b""
    expiry_time_period_ms: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ExpireDelegationTokenRequest",
        "request",
        Field("Hmac", "hmac", "bytes", "0+"),
        Field("ExpiryTimePeriodMs", "expiry_time_period_ms", "int64", "0+"),
        versions="0-2",
        flexible="2+",
        key=40,
    )
