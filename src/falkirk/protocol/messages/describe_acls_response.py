"""Generated from schemas/messages/api/29_DescribeAcls.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AclDescription(WireStruct, gc=False):
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Principal", "principal", "string", "0+"),
        Field("Host", "host", "string", "0+"),
        Field("Operation", "operation", "int8", "0+"),
        Field("PermissionType", "permission_type", "int8", "0+"),
    )


class DescribeAclsResource(WireStruct, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 3
    acls: list[AclDescription] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ResourceType", "resource_type", "int8", "0+"),
        Field("ResourceName", "resource_name", "string", "0+"),
        Field("PatternType", "pattern_type", "int8", "1+", default=3),
        Field("Acls", "acls", AclDescription, "0+", array=True),
    )


class DescribeAclsResponse(WireMessage, gc=False):
    """DescribeAclsResponse: response 29, versions 0-3, flexible 2+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    resources: list[DescribeAclsResource] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeAclsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("Resources", "resources", DescribeAclsResource, "0+", array=True),
        versions="0-3",
        flexible="2+",
        key=29,
    )
