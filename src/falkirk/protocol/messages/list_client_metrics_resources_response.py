"""Generated from schemas/messages/api/74_ListClientMetricsResources.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ClientMetricsResource(WireStruct, gc=False):
    name: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
    )


class ListClientMetricsResourcesResponse(WireMessage, gc=False):
    """ListClientMetricsResourcesResponse: response 74, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    client_metrics_resources: list[ClientMetricsResource] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListClientMetricsResourcesResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ClientMetricsResources", "client_metrics_resources", ClientMetricsResource, "0+", array=True),
        versions="0",
        flexible="0+",
        key=74,
    )
