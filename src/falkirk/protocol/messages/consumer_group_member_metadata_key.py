"""Generated from schemas/messages/group_coordinator/05_ConsumerGroupMemberMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ConsumerGroupMemberMetadataKey(WireMessage, gc=False):
    """ConsumerGroupMemberMetadataKey: coordinator-key 5, versions 0,5, flexible none."""

    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupMemberMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        versions="0,5",
        flexible="none",
        key=5,
    )
