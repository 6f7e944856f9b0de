"""Generated from schemas/messages/api/12_Heartbeat.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class HeartbeatRequest(WireMessage, gc=False):
    """HeartbeatRequest: request 12, versions 0-4, flexible 4+."""

    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "HeartbeatRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("GenerationId", "generation_id", "int32", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        Field("GroupInstanceId", "group_instance_id", "string", "3+", nullable="3+", default=None),
        versions="0-4",
        flexible="4+",
        key=12,
    )
