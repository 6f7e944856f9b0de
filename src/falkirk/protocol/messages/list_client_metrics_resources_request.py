"""Generated from schemas/messages/api/74_ListClientMetricsResources.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import MessageSchema, UnknownTaggedFields, WireMessage


class ListClientMetricsResourcesRequest(WireMessage, gc=False):
    """ListClientMetricsResourcesRequest: request 74, versions 0, flexible 0+."""

    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListClientMetricsResourcesRequest",
        "request",
        versions="0",
        flexible="0+",
        key=74,
    )
