"""Generated from schemas/messages/api/11_JoinGroup.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class JoinGroupResponseMember(WireStruct, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    metadata: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("MemberId", "member_id", "string", "0+"),
        Field("GroupInstanceId", "group_instance_id", "string", "5+", nullable="5+", default=None, ignorable=True),
        Field("Metadata", "metadata", "bytes", "0+"),
    )


class JoinGroupResponse(WireMessage, gc=False):
    """JoinGroupResponse: response 11, versions 0-9, flexible 6+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = ""
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: list[JoinGroupResponseMember] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "JoinGroupResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "2+", ignorable=True),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("GenerationId", "generation_id", "int32", "0+", default=-1),
        Field("ProtocolType", "protocol_type", "string", "7+", nullable="7+", default=None, ignorable=True),
        Field("ProtocolName", "protocol_name", "string", "0+", nullable="7+"),
        Field("Leader", "leader", "string", "0+"),
        Field("SkipAssignment", "skip_assignment", "bool", "9+"),
        Field("MemberId", "member_id", "string", "0+"),
        Field("Members", "members", JoinGroupResponseMember, "0+", array=True),
        versions="0-9",
        flexible="6+",
        key=11,
    )
