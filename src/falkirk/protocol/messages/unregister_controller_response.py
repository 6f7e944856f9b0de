"""Generated from schemas/messages/api/94_UnregisterController.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class UnregisterControllerResponse(WireMessage, gc=False):
    """UnregisterControllerResponse: response 94, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UnregisterControllerResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        versions="0",
        flexible="0+",
        key=94,
    )
