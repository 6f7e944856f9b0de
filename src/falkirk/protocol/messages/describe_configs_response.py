"""Generated from schemas/messages/api/32_DescribeConfigs.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DescribeConfigsSynonym(WireStruct, gc=False):
    name: str = ""
    value: str | None = ""
    source: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "1+"),
        Field("Value", "value", "string", "1+", nullable="1+"),
        Field("Source", "source", "int8", "1+"),
    )


class DescribeConfigsResourceResult(WireStruct, gc=False):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    is_default: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    synonyms: list[DescribeConfigsSynonym] = []
    config_type: int = 0
    documentation: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Value", "value", "string", "0+", nullable="0+"),
        Field("ReadOnly", "read_only", "bool", "0+"),
        Field("IsDefault", "is_default", "bool", "0"),
        Field("ConfigSource", "config_source", "int8", "1+", default=-1, ignorable=True),
        Field("IsSensitive", "is_sensitive", "bool", "0+"),
        Field("Synonyms", "synonyms", DescribeConfigsSynonym, "1+", array=True, ignorable=True),
        Field("ConfigType", "config_type", "int8", "3+", ignorable=True),
        Field("Documentation", "documentation", "string", "3+", nullable="3+", ignorable=True),
    )


class DescribeConfigsResult(WireStruct, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("ResourceType", "resource_type", "int8", "0+"),
        Field("ResourceName", "resource_name", "string", "0+"),
        Field("Configs", "configs", DescribeConfigsResourceResult, "0+", array=True),
    )


class DescribeConfigsResponse(WireMessage, gc=False):
    """DescribeConfigsResponse: response 32, versions 0-4, flexible 4+."""

    throttle_time_ms: int = 0
    results: list[DescribeConfigsResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeConfigsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Results", "results", DescribeConfigsResult, "0+", array=True),
        versions="0-4",
        flexible="4+",
        key=32,
    )
