"""Generated from schemas/messages/api/15_DescribeGroups.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DescribedGroupMember(WireStruct, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("MemberId", "member_id", "string", "0+"),
        Field("GroupInstanceId", "group_instance_id", "string", "4+", nullable="4+", default=None, ignorable=True),
        Field("ClientId", "client_id", "string", "0+"),
        Field("ClientHost", "client_host", "string", "0+"),
        Field("MemberMetadata", "member_metadata", "bytes", "0+"),
        Field("MemberAssignment", "member_assignment", "bytes", "0+"),
    )


class DescribedGroup(WireStruct, gc=False):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = []
    authorized_operations: int = -2147483648
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "6+", nullable="6+", default=None),
        Field("GroupId", "group_id", "string", "0+"),
        Field("GroupState", "group_state", "string", "0+"),
        Field("ProtocolType", "protocol_type", "string", "0+"),
        Field("ProtocolData", "protocol_data", "string", "0+"),
        Field("Members", "members", DescribedGroupMember, "0+", array=True),
        Field("AuthorizedOperations", "authorized_operations", "int32", "3+", default=-2147483648),
    )


class DescribeGroupsResponse(WireMessage, gc=False):
    """DescribeGroupsResponse: response 15, versions 0-6, flexible 5+."""

    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeGroupsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "1+", ignorable=True),
        Field("Groups", "groups", DescribedGroup, "0+", array=True),
        versions="0-6",
        flexible="5+",
        key=15,
    )
