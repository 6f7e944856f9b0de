"""Generated from schemas/messages/api/30_CreateAcls.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AclCreation(WireStruct, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    resource_pattern_type: int = 3
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ResourceType", "resource_type", "int8", "0+"),
        Field("ResourceName", "resource_name", "string", "0+"),
        Field("ResourcePatternType", "resource_pattern_type", "int8", "1+", default=3),
        Field("Principal", "principal", "string", "0+"),
        Field("Host", "host", "string", "0+"),
        Field("Operation", "operation", "int8", "0+"),
        Field("PermissionType", "permission_type", "int8", "0+"),
    )


class CreateAclsRequest(WireMessage, gc=False):
    """CreateAclsRequest: request 30, versions 0-3, flexible 2+."""

    creations: list[AclCreation] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "CreateAclsRequest",
        "request",
        Field("Creations", "creations", AclCreation, "0+", array=True),
        versions="0-3",
        flexible="2+",
        key=30,
    )
