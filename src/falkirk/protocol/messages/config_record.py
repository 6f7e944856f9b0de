"""Generated from schemas/messages/metadata/04_ConfigRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ConfigRecord(WireMessage, gc=False):
    """ConfigRecord: metadata 4, versions 0, flexible 0+."""

    resource_type: int = 0
    resource_name: str = ""
    name: str = ""
    value: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConfigRecord",
        "metadata",
        Field("ResourceType", "resource_type", "int8", "0+"),
        Field("ResourceName", "resource_name", "string", "0+"),
        Field("Name", "name", "string", "0+"),
        Field("Value", "value", "string", "0+", nullable="0+"),
        versions="0",
        flexible="0+",
        key=4,
    )
