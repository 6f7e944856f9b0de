"""Generated from schemas/messages/group_coordinator/04_ConsumerGroupPartitionMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ConsumerGroupPartitionMetadataKey(WireMessage, gc=False):
    """ConsumerGroupPartitionMetadataKey: coordinator-key 4, versions 0,4, flexible none."""

    group_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupPartitionMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        versions="0,4",
        flexible="none",
        key=4,
    )
