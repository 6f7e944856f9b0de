"""Generated from schemas/messages/data/ResponseHeader.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ResponseHeader(WireMessage, gc=False):
    """ResponseHeader: header, versions 0-1, flexible 1+."""

    correlation_id: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ResponseHeader",
        "header",
        Field("CorrelationId", "correlation_id", "int32", "0+"),
        versions="0-1",
        flexible="1+",
    )
