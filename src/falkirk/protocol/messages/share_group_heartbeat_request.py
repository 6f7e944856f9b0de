"""Generated from schemas/messages/api/76_ShareGroupHeartbeat.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ShareGroupHeartbeatRequest(WireMessage, gc=False):
    """ShareGroupHeartbeatRequest: request 76, versions 0-1, flexible 0+."""

    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    rack_id: str | None = None
    subscribed_topic_names: tuple[str, ...] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupHeartbeatRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        Field("MemberEpoch", "member_epoch", "int32", "0+"),
        Field("RackId", "rack_id", "string", "0+", nullable="0+", default=None),
        Field(
            "SubscribedTopicNames", "subscribed_topic_names", "string", "0+", array=True, nullable="0+", default=None
        ),
        versions="0-1",
        flexible="0+",
        key=76,
    )
