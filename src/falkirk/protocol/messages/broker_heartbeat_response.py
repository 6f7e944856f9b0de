"""Generated from schemas/messages/api/63_BrokerHeartbeat.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class BrokerHeartbeatResponse(WireMessage, gc=False):
    """BrokerHeartbeatResponse: response 63, versions 0-2, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "BrokerHeartbeatResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("IsCaughtUp", "is_caught_up", "bool", "0+"),
        Field("IsFenced", "is_fenced", "bool", "0+", default=True),
        Field("ShouldShutDown", "should_shut_down", "bool", "0+"),
        versions="0-2",
        flexible="0+",
        key=63,
    )
