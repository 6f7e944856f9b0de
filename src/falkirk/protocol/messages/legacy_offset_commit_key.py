"""Generated from schemas/messages/group_coordinator/00_LegacyOffsetCommit.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class LegacyOffsetCommitKey(WireMessage, gc=False):
    """LegacyOffsetCommitKey: coordinator-key 0, versions 0, flexible none."""

    group: str = ""
    topic: str = ""
    partition: int = 0

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "LegacyOffsetCommitKey",
        "coordinator-key",
        Field("group", "group", "string", "0+"),
        Field("topic", "topic", "string", "0+"),
        Field("partition", "partition", "int32", "0+"),
        versions="0",
        flexible="none",
        key=0,
    )
