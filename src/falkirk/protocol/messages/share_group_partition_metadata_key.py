"""Generated from schemas/messages/group_coordinator/09_ShareGroupPartitionMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ShareGroupPartitionMetadataKey(WireMessage, gc=False):
    """ShareGroupPartitionMetadataKey: coordinator-key 9, versions 9, flexible none."""

    group_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupPartitionMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "9+"),
        versions="9",
        flexible="none",
        key=9,
    )
