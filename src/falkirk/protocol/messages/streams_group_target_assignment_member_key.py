"""Generated from schemas/messages/group_coordinator/21_StreamsGroupTargetAssignmentMember.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class StreamsGroupTargetAssignmentMemberKey(WireMessage, gc=False):
    """StreamsGroupTargetAssignmentMemberKey: coordinator-key 21, versions 0, flexible none."""

    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupTargetAssignmentMemberKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        versions="0",
        flexible="none",
        key=21,
    )
