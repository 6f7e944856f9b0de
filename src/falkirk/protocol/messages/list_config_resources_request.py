"""Generated from schemas/messages/api/74_ListConfigResources.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ListConfigResourcesRequest(WireMessage, gc=False):
    """ListConfigResourcesRequest: request 74, versions 0-1, flexible 0+."""

    resource_types: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListConfigResourcesRequest",
        "request",
        Field("ResourceTypes", "resource_types", "int8", "1+", array=True),
        versions="0-1",
        flexible="0+",
        key=74,
    )
