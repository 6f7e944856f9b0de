"""Generated from schemas/messages/api/17_SaslHandshake.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class SaslHandshakeRequest(WireMessage, gc=False):
    """SaslHandshakeRequest: request 17, versions 0-1, flexible none."""

    mechanism: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "SaslHandshakeRequest",
        "request",
        Field("Mechanism", "mechanism", "string", "0+"),
        versions="0-1",
        flexible="none",
        key=17,
    )
