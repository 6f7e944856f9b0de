"""Generated from schemas/messages/api/36_SaslAuthenticate.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class SaslAuthenticateResponse(WireMessage, gc=False):
    """SaslAuthenticateResponse: response 36, versions 0-2, flexible 2+."""

    error_code: int = 0
    error_message: str | None = ""
    auth_bytes: bytes = b""
    session_lifetime_ms: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "SaslAuthenticateResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("AuthBytes", "auth_bytes", "bytes", "0+"),
        Field("SessionLifetimeMs", "session_lifetime_ms", "int64", "1+", ignorable=True),
        versions="0-2",
        flexible="2+",
        key=36,
    )
