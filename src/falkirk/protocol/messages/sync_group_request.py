"""Generated from schemas/messages/api/14_SyncGroup.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class SyncGroupRequestAssignment(WireStruct, gc=False):
    member_id: str = ""
    assignment: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("MemberId", "member_id", "string", "0+"),
        Field("Assignment", "assignment", "bytes", "0+"),
    )


class SyncGroupRequest(WireMessage, gc=False):
    """SyncGroupRequest: request 14, versions 0-5, flexible 4+."""

    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: list[SyncGroupRequestAssignment] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "SyncGroupRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("GenerationId", "generation_id", "int32", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        Field("GroupInstanceId", "group_instance_id", "string", "3+", nullable="3+", default=None),
        Field("ProtocolType", "protocol_type", "string", "5+", nullable="5+", default=None, ignorable=True),
        Field("ProtocolName", "protocol_name", "string", "5+", nullable="5+", default=None, ignorable=True),
        Field("Assignments", "assignments", SyncGroupRequestAssignment, "0+", array=True),
        versions="0-5",
        flexible="4+",
        key=14,
    )
