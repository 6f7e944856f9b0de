"""Generated from schemas/messages/api/36_SaslAuthenticate.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class SaslAuthenticateRequest(WireMessage, gc=False):
    """SaslAuthenticateRequest: request 36, versions 0-2, flexible 2+."""

    auth_bytes: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "SaslAuthenticateRequest",
        "request",
        Field("AuthBytes", "auth_bytes", "bytes", "0+"),
        versions="0-2",
        flexible="2+",
        key=36,
    )
