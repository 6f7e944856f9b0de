"""Generated from schemas/messages/group_coordinator/20_StreamsGroupTargetAssignmentMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class StreamsGroupTargetAssignmentMetadataKey(WireMessage, gc=False):
    """StreamsGroupTargetAssignmentMetadataKey: coordinator-key 20, versions 0, flexible none."""

    group_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupTargetAssignmentMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        versions="0",
        flexible="none",
        key=20,
    )
