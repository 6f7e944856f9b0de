"""Generated from schemas/messages/api/69_ConsumerGroupDescribe.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ConsumerGroupDescribeRequest(WireMessage, gc=False):
    """ConsumerGroupDescribeRequest: request 69, versions 0-1, flexible 0+."""

    group_ids: tuple[str, ...] = ()
    include_authorized_operations: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupDescribeRequest",
        "request",
        Field("GroupIds", "group_ids", "string", "0+", array=True),
        Field("IncludeAuthorizedOperations", "include_authorized_operations", "bool", "0+"),
        versions="0-1",
        flexible="0+",
        key=69,
    )
