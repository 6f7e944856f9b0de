"""Generated from schemas/messages/api/33_AlterConfigs.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AlterableConfig(WireStruct, gc=False):
    name: str = ""
    value: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Value", "value", "string", "0+", nullable="0+"),
    )


class AlterConfigsResource(WireStruct, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ResourceType", "resource_type", "int8", "0+"),
        Field("ResourceName", "resource_name", "string", "0+"),
        Field("Configs", "configs", AlterableConfig, "0+", array=True),
    )


class AlterConfigsRequest(WireMessage, gc=False):
    """AlterConfigsRequest: request 33, versions 0-2, flexible 2+."""

    resources: list[AlterConfigsResource] = []
    validate_only: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterConfigsRequest",
        "request",
        Field("Resources", "resources", AlterConfigsResource, "0+", array=True),
        Field("ValidateOnly", "validate_only", "bool", "0+"),
        versions="0-2",
        flexible="2+",
        key=33,
    )
