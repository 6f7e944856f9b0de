"""Generated from schemas/messages/group_coordinator/10_ShareGroupMemberMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ShareGroupMemberMetadataKey(WireMessage, gc=False):
    """ShareGroupMemberMetadataKey: coordinator-key 10, versions 0,10, flexible none."""

    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupMemberMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        versions="0,10",
        flexible="none",
        key=10,
    )
