"""Generated from schemas/messages/api/77_ShareGroupDescribe.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ShareGroupDescribeRequest(WireMessage, gc=False):
    """ShareGroupDescribeRequest: request 77, versions 0-1, flexible 0+."""

    group_ids: tuple[str, ...] = ()
    include_authorized_operations: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupDescribeRequest",
        "request",
        Field("GroupIds", "group_ids", "string", "0+", array=True),
        Field("IncludeAuthorizedOperations", "include_authorized_operations", "bool", "0+"),
        versions="0-1",
        flexible="0+",
        key=77,
    )
