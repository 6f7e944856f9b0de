"""Generated from schemas/messages/api/31_DeleteAcls.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DeleteAclsMatchingAcl(WireStruct, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 3
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("ResourceType", "resource_type", "int8", "0+"),
        Field("ResourceName", "resource_name", "string", "0+"),
        Field("PatternType", "pattern_type", "int8", "1+", default=3),
        Field("Principal", "principal", "string", "0+"),
        Field("Host", "host", "string", "0+"),
        Field("Operation", "operation", "int8", "0+"),
        Field("PermissionType", "permission_type", "int8", "0+"),
    )


class DeleteAclsFilterResult(WireStruct, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    matching_acls: list[DeleteAclsMatchingAcl] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("MatchingAcls", "matching_acls", DeleteAclsMatchingAcl, "0+", array=True),
    )


class DeleteAclsResponse(WireMessage, gc=False):
    """DeleteAclsResponse: response 31, versions 0-3, flexible 2+."""

    throttle_time_ms: int = 0
    filter_results: list[DeleteAclsFilterResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DeleteAclsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("FilterResults", "filter_results", DeleteAclsFilterResult, "0+", array=True),
        versions="0-3",
        flexible="2+",
        key=31,
    )
