"""Generated from schemas/messages/group_coordinator/08_ConsumerGroupCurrentMemberAssignment.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ConsumerGroupCurrentMemberAssignmentKey(WireMessage, gc=False):
    """ConsumerGroupCurrentMemberAssignmentKey: coordinator-key 8, versions 0,8, flexible none."""

    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupCurrentMemberAssignmentKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        versions="0,8",
        flexible="none",
        key=8,
    )
