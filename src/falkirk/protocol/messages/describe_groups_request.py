"""Generated from schemas/messages/api/15_DescribeGroups.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class DescribeGroupsRequest(WireMessage, gc=False):
    """DescribeGroupsRequest: request 15, versions 0-6, flexible 5+."""

    groups: tuple[str, ...] = ()
    include_authorized_operations: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeGroupsRequest",
        "request",
        Field("Groups", "groups", "string", "0+", array=True),
        Field("IncludeAuthorizedOperations", "include_authorized_operations", "bool", "3+"),
        versions="0-6",
        flexible="5+",
        key=15,
    )
