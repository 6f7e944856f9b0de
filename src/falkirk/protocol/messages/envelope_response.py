"""Generated from schemas/messages/api/58_Envelope.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class EnvelopeResponse(WireMessage, gc=False):
    """EnvelopeResponse: response 58, versions 0, flexible 0+."""

    response_data: bytes | None = None
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "EnvelopeResponse",
        "response",
        Field("ResponseData", "response_data", "bytes", "0+", nullable="0+", default=None),
        Field("ErrorCode", "error_code", "int16", "0+"),
        versions="0",
        flexible="0+",
        key=58,
    )
