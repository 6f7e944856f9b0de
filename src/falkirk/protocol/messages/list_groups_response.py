"""Generated from schemas/messages/api/16_ListGroups.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ListedGroup(WireStruct, gc=False):
    group_id: str = ""
    protocol_type: str = ""
    group_state: str = ""
    group_type: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("GroupId", "group_id", "string", "0+"),
        Field("ProtocolType", "protocol_type", "string", "0+"),
        Field("GroupState", "group_state", "string", "4+", ignorable=True),
        Field("GroupType", "group_type", "string", "5+", ignorable=True),
    )


class ListGroupsResponse(WireMessage, gc=False):
    """ListGroupsResponse: response 16, versions 0-5, flexible 3+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    groups: list[ListedGroup] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListGroupsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "1+", ignorable=True),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("Groups", "groups", ListedGroup, "0+", array=True),
        versions="0-5",
        flexible="3+",
        key=16,
    )
