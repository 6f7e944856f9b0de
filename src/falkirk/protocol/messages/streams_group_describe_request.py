"""Generated from schemas/messages/api/89_StreamsGroupDescribe.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class StreamsGroupDescribeRequest(WireMessage, gc=False):
    """StreamsGroupDescribeRequest: request 89, versions 0-1, flexible 0+."""

    group_ids: tuple[str, ...] = ()
    include_authorized_operations: bool = False
    include_topology_description: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupDescribeRequest",
        "request",
        Field("GroupIds", "group_ids", "string", "0+", array=True),
        Field("IncludeAuthorizedOperations", "include_authorized_operations", "bool", "0+"),
        Field("IncludeTopologyDescription", "include_topology_description", "bool", "1+"),
        versions="0-1",
        flexible="0+",
        key=89,
    )
