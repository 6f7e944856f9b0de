"""Generated from schemas/messages/group_coordinator/22_StreamsGroupCurrentMemberAssignment.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class StreamsGroupCurrentMemberAssignmentKey(WireMessage, gc=False):
    """StreamsGroupCurrentMemberAssignmentKey: coordinator-key 22, versions 0, flexible none."""

    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupCurrentMemberAssignmentKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        versions="0",
        flexible="none",
        key=22,
    )
