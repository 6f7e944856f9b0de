"""Generated from schemas/messages/group_coordinator/07_ConsumerGroupTargetAssignmentMember.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ConsumerGroupTargetAssignmentMemberKey(WireMessage, gc=False):
    """ConsumerGroupTargetAssignmentMemberKey: coordinator-key 7, versions 0,7, flexible none."""

    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupTargetAssignmentMemberKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        versions="0,7",
        flexible="none",
        key=7,
    )
