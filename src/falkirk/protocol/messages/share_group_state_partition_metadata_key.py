"""Generated from schemas/messages/group_coordinator/15_ShareGroupStatePartitionMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ShareGroupStatePartitionMetadataKey(WireMessage, gc=False):
    """ShareGroupStatePartitionMetadataKey: coordinator-key 15, versions 0,15, flexible none."""

    group_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupStatePartitionMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        versions="0,15",
        flexible="none",
        key=15,
    )
