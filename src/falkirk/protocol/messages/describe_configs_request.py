"""Generated from schemas/messages/api/32_DescribeConfigs.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DescribeConfigsResource(WireStruct, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    configuration_keys: tuple[str, ...] | None = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ResourceType", "resource_type", "int8", "0+"),
        Field("ResourceName", "resource_name", "string", "0+"),
        Field("ConfigurationKeys", "configuration_keys", "string", "0+", array=True, nullable="0+"),
    )


class DescribeConfigsRequest(WireMessage, gc=False):
    """DescribeConfigsRequest: request 32, versions 0-4, flexible 4+."""

    resources: list[DescribeConfigsResource] = []
    include_synonyms: bool = False
    include_documentation: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeConfigsRequest",
        "request",
        Field("Resources", "resources", DescribeConfigsResource, "0+", array=True),
        Field("IncludeSynonyms", "include_synonyms", "bool", "1+"),
        Field("IncludeDocumentation", "include_documentation", "bool", "3+"),
        versions="0-4",
        flexible="4+",
        key=32,
    )
