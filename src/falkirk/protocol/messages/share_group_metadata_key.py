"""Generated from schemas/messages/group_coordinator/11_ShareGroupMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ShareGroupMetadataKey(WireMessage, gc=False):
    """ShareGroupMetadataKey: coordinator-key 11, versions 0,11, flexible none."""

    group_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        versions="0,11",
        flexible="none",
        key=11,
    )
