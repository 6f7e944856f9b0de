"""Generated from schemas/messages/api/33_AlterConfigs.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AlterConfigsResourceResponse(WireStruct, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("ResourceType", "resource_type", "int8", "0+"),
        Field("ResourceName", "resource_name", "string", "0+"),
    )


class AlterConfigsResponse(WireMessage, gc=False):
    """AlterConfigsResponse: response 33, versions 0-2, flexible 2+."""

    throttle_time_ms: int = 0
    responses: list[AlterConfigsResourceResponse] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterConfigsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Responses", "responses", AlterConfigsResourceResponse, "0+", array=True),
        versions="0-2",
        flexible="2+",
        key=33,
    )
