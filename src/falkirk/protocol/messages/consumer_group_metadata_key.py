"""Generated from schemas/messages/group_coordinator/03_ConsumerGroupMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ConsumerGroupMetadataKey(WireMessage, gc=False):
    """ConsumerGroupMetadataKey: coordinator-key 3, versions 0,3, flexible none."""

    group_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        versions="0,3",
        flexible="none",
        key=3,
    )
