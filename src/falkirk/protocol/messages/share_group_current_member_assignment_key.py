"""Generated from schemas/messages/group_coordinator/14_ShareGroupCurrentMemberAssignment.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ShareGroupCurrentMemberAssignmentKey(WireMessage, gc=False):
    """ShareGroupCurrentMemberAssignmentKey: coordinator-key 14, versions 0,14, flexible none."""

    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupCurrentMemberAssignmentKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        versions="0,14",
        flexible="none",
        key=14,
    )
