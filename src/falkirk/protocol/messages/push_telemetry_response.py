"""Generated from schemas/messages/api/72_PushTelemetry.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class PushTelemetryResponse(WireMessage, gc=False):
    """PushTelemetryResponse: response 72, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "PushTelemetryResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        versions="0",
        flexible="0+",
        key=72,
    )
