"""Generated from schemas/messages/metadata/18_AccessControlEntryRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class AccessControlEntryRecord(WireMessage, gc=False):
    """AccessControlEntryRecord: metadata 18, versions 0, flexible 0+."""

    id: bytes = ZERO_UUID
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 0
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AccessControlEntryRecord",
        "metadata",
        Field("Id", "id", "uuid", "0+"),
        Field("ResourceType", "resource_type", "int8", "0+"),
        Field("ResourceName", "resource_name", "string", "0+"),
        Field("PatternType", "pattern_type", "int8", "0+"),
        Field("Principal", "principal", "string", "0+"),
        Field("Host", "host", "string", "0+"),
        Field("Operation", "operation", "int8", "0+"),
        Field("PermissionType", "permission_type", "int8", "0+"),
        versions="0",
        flexible="0+",
        key=18,
    )
