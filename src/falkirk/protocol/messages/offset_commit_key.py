"""Generated from schemas/messages/group_coordinator/01_OffsetCommit.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class OffsetCommitKey(WireMessage, gc=False):
    """OffsetCommitKey: coordinator-key 1, versions 0-1, flexible none."""

    group: str = ""
    topic: str = ""
    partition: int = 0

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "OffsetCommitKey",
        "coordinator-key",
        Field("group", "group", "string", "0+"),
        Field("topic", "topic", "string", "0+"),
        Field("partition", "partition", "int32", "0+"),
        versions="0-1",
        flexible="none",
        key=1,
    )
