"""Generated from schemas/messages/share_coordinator/01_ShareUpdate.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, WireMessage


class ShareUpdateKey(WireMessage, gc=False):
    """ShareUpdateKey: coordinator-key 1, versions 0-1, flexible none."""

    group_id: str = ""
    topic_id: bytes = ZERO_UUID
    partition: int = 0

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareUpdateKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partition", "partition", "int32", "0+"),
        versions="0-1",
        flexible="none",
        key=1,
    )
