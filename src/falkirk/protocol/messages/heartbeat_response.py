"""Generated from schemas/messages/api/12_Heartbeat.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class HeartbeatResponse(WireMessage, gc=False):
    """HeartbeatResponse: response 12, versions 0-4, flexible 4+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "HeartbeatResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "1+", ignorable=True),
        Field("ErrorCode", "error_code", "int16", "0+"),
        versions="0-4",
        flexible="4+",
        key=12,
    )
