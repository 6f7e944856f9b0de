"""Generated from schemas/messages/data/RequestHeader.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class RequestHeader(WireMessage, gc=False):
    """RequestHeader: header, versions 0-2, flexible 2+."""

    request_api_key: int = 0
    request_api_version: int = 0
    correlation_id: int = 0
    client_id: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RequestHeader",
        "header",
        Field("RequestApiKey", "request_api_key", "int16", "0+"),
        Field("RequestApiVersion", "request_api_version", "int16", "0+"),
        Field("CorrelationId", "correlation_id", "int32", "0+"),
        Field("ClientId", "client_id", "string", "1+", nullable="1+", ignorable=True, flexible="none"),
        versions="0-2",
        flexible="2+",
    )
