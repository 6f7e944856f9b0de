"""Generated from schemas/messages/group_coordinator/13_ShareGroupTargetAssignmentMember.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ShareGroupTargetAssignmentMemberKey(WireMessage, gc=False):
    """ShareGroupTargetAssignmentMemberKey: coordinator-key 13, versions 0,13, flexible none."""

    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupTargetAssignmentMemberKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        versions="0,13",
        flexible="none",
        key=13,
    )
