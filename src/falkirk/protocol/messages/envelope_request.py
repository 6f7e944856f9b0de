"""Generated from schemas/messages/api/58_Envelope.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class EnvelopeRequest(WireMessage, gc=False):
    """EnvelopeRequest: request 58, versions 0, flexible 0+."""

    request_data: bytes = b""
    request_principal: bytes | None = b""
    client_host_address: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "EnvelopeRequest",
        "request",
        Field("RequestData", "request_data", "bytes", "0+"),
        Field("RequestPrincipal", "request_principal", "bytes", "0+", nullable="0+"),
        Field("ClientHostAddress", "client_host_address", "bytes", "0+"),
        versions="0",
        flexible="0+",
        key=58,
    )
