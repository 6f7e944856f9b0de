"""Generated from schemas/messages/api/42_DeleteGroups.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class DeleteGroupsRequest(WireMessage, gc=False):
    """DeleteGroupsRequest: request 42, versions 0-3, flexible 2+."""

    groups_names: tuple[str, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DeleteGroupsRequest",
        "request",
        Field("GroupsNames", "groups_names", "string", "0+", array=True),
        versions="0-3",
        flexible="2+",
        key=42,
    )
