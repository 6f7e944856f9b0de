"""Generated from schemas/messages/api/70_ControllerRegistration.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ControllerRegistrationResponse(WireMessage, gc=False):
    """ControllerRegistrationResponse: response 70, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ControllerRegistrationResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        versions="0",
        flexible="0+",
        key=70,
    )
