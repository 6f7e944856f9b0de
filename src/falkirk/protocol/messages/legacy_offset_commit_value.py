"""Generated from schemas/messages/group_coordinator/00_LegacyOffsetCommit.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class LegacyOffsetCommitValue(WireMessage, gc=False):
    """LegacyOffsetCommitValue: coordinator-value 0, versions 0, flexible none."""

    offset: int = 0
    metadata: str = ""
    commit_timestamp: int = 0

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "LegacyOffsetCommitValue",
        "coordinator-value",
        Field("offset", "offset", "int64", "0+"),
        Field("metadata", "metadata", "string", "0+"),
        Field("commitTimestamp", "commit_timestamp", "int64", "0+"),
        versions="0",
        flexible="none",
        key=0,
    )
