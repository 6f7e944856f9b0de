"""Generated from schemas/messages/api/40_ExpireDelegationToken.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ExpireDelegationTokenResponse(WireMessage, gc=False):
    """ExpireDelegationTokenResponse: response 40, versions 0-2, flexible 2+."""

    error_code: int = 0
    expiry_timestamp_ms: int = 0
    throttle_time_ms: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ExpireDelegationTokenResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ExpiryTimestampMs", "expiry_timestamp_ms", "int64", "0+"),
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        versions="0-2",
        flexible="2+",
        key=40,
    )
