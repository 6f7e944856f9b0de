"""Generated from schemas/messages/api/13_LeaveGroup.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class MemberResponse(WireStruct, gc=False):
    member_id: str = ""
    group_instance_id: str | None = ""
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("MemberId", "member_id", "string", "3+"),
        Field("GroupInstanceId", "group_instance_id", "string", "3+", nullable="3+"),
        Field("ErrorCode", "error_code", "int16", "3+"),
    )


class LeaveGroupResponse(WireMessage, gc=False):
    """LeaveGroupResponse: response 13, versions 0-5, flexible 4+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    members: list[MemberResponse] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "LeaveGroupResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "1+", ignorable=True),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("Members", "members", MemberResponse, "3+", array=True),
        versions="0-5",
        flexible="4+",
        key=13,
    )
