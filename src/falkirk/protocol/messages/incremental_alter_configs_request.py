"""Generated from schemas/messages/api/44_IncrementalAlterConfigs.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AlterableConfig(WireStruct, gc=False):
    name: str = ""
    config_operation: int = 0
    value: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("ConfigOperation", "config_operation", "int8", "0+"),
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


class IncrementalAlterConfigsRequest(WireMessage, gc=False):
    """IncrementalAlterConfigsRequest: request 44, versions 0-1, flexible 1+."""

    resources: list[AlterConfigsResource] = []
    validate_only: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "IncrementalAlterConfigsRequest",
        "request",
        Field("Resources", "resources", AlterConfigsResource, "0+", array=True),
        Field("ValidateOnly", "validate_only", "bool", "0+"),
        versions="0-1",
        flexible="1+",
        key=44,
    )
