"""Generated from schemas/messages/api/16_ListGroups.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ListGroupsRequest(WireMessage, gc=False):
    """ListGroupsRequest: request 16, versions 0-5, flexible 3+."""

    states_filter: tuple[str, ...] = ()
    types_filter: tuple[str, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListGroupsRequest",
        "request",
        Field("StatesFilter", "states_filter", "string", "4+", array=True),
        Field("TypesFilter", "types_filter", "string", "5+", array=True),
        versions="0-5",
        flexible="3+",
        key=16,
    )
