"""Generated from schemas/messages/api/13_LeaveGroup.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class MemberIdentity(WireStruct, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    reason: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("MemberId", "member_id", "string", "3+"),
        Field("GroupInstanceId", "group_instance_id", "string", "3+", nullable="3+", default=None),
        Field("Reason", "reason", "string", "5+", nullable="5+", default=None, ignorable=True),
    )


class LeaveGroupRequest(WireMessage, gc=False):
    """LeaveGroupRequest: request 13, versions 0-5, flexible 4+."""

    group_id: str = ""
    member_id: str = ""
    members: list[MemberIdentity] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "LeaveGroupRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0-2"),
        Field("Members", "members", MemberIdentity, "3+", array=True),
        versions="0-5",
        flexible="4+",
        key=13,
    )
