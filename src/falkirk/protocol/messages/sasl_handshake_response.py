"""Generated from schemas/messages/api/17_SaslHandshake.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class SaslHandshakeResponse(WireMessage, gc=False):
    """SaslHandshakeResponse: response 17, versions 0-1, flexible none."""

    error_code: int = 0
    mechanisms: tuple[str, ...] = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "SaslHandshakeResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("Mechanisms", "mechanisms", "string", "0+", array=True),
        versions="0-1",
        flexible="none",
        key=17,
    )
