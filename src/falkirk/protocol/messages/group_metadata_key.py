"""Generated from schemas/messages/group_coordinator/02_GroupMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class GroupMetadataKey(WireMessage, gc=False):
    """GroupMetadataKey: coordinator-key 2, versions 0,2, flexible none."""

    group: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "GroupMetadataKey",
        "coordinator-key",
        Field("group", "group", "string", "0+"),
        versions="0,2",
        flexible="none",
        key=2,
    )
