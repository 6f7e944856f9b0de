"""Generated from schemas/messages/api/29_DescribeAcls.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class DescribeAclsRequest(WireMessage, gc=False):
    """DescribeAclsRequest: request 29, versions 0-3, flexible 2+."""

    resource_type_filter: int = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: int = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeAclsRequest",
        "request",
        Field("ResourceTypeFilter", "resource_type_filter", "int8", "0+"),
        Field("ResourceNameFilter", "resource_name_filter", "string", "0+", nullable="0+"),
        Field("PatternTypeFilter", "pattern_type_filter", "int8", "1+", default=3),
        Field("PrincipalFilter", "principal_filter", "string", "0+", nullable="0+"),
        Field("HostFilter", "host_filter", "string", "0+", nullable="0+"),
        Field("Operation", "operation", "int8", "0+"),
        Field("PermissionType", "permission_type", "int8", "0+"),
        versions="0-3",
        flexible="2+",
        key=29,
    )
