"""Generated from schemas/messages/api/14_SyncGroup.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class SyncGroupResponse(WireMessage, gc=False):
    """SyncGroupResponse: response 14, versions 0-5, flexible 4+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "SyncGroupResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "1+", ignorable=True),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ProtocolType", "protocol_type", "string", "5+", nullable="5+", default=None, ignorable=True),
        Field("ProtocolName", "protocol_name", "string", "5+", nullable="5+", default=None, ignorable=True),
        Field("Assignment", "assignment", "bytes", "0+"),
        versions="0-5",
        flexible="4+",
        key=14,
    )
