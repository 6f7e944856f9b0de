"""Generated from schemas/messages/group_coordinator/17_StreamsGroupMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class StreamsGroupMetadataKey(WireMessage, gc=False):
    """StreamsGroupMetadataKey: coordinator-key 17, versions 0, flexible none."""

    group_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        versions="0",
        flexible="none",
        key=17,
    )
