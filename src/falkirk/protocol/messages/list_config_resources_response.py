"""Generated from schemas/messages/api/74_ListConfigResources.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ConfigResource(WireStruct, gc=False):
    resource_name: str = ""
    resource_type: int = 16
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ResourceName", "resource_name", "string", "0+"),
        Field("ResourceType", "resource_type", "int8", "1+", default=16, ignorable=True),
    )


class ListConfigResourcesResponse(WireMessage, gc=False):
    """ListConfigResourcesResponse: response 74, versions 0-1, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    config_resources: list[ConfigResource] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListConfigResourcesResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ConfigResources", "config_resources", ConfigResource, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=74,
    )
