"""Generated from schemas/messages/api/39_RenewDelegationToken.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class RenewDelegationTokenRequest(WireMessage, gc=False):
    """RenewDelegationTokenRequest: request 39, versions 0-2, flexible 2+."""

    hmac: bytes = b""
    renew_period_ms: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RenewDelegationTokenRequest",
        "request",
        Field("Hmac", "hmac", "bytes", "0+"),
        Field("RenewPeriodMs", "renew_period_ms", "int64", "0+"),
        versions="0-2",
        flexible="2+",
        key=39,
    )
