"""Generated from schemas/messages/group_coordinator/12_ShareGroupTargetAssignmentMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ShareGroupTargetAssignmentMetadataKey(WireMessage, gc=False):
    """ShareGroupTargetAssignmentMetadataKey: coordinator-key 12, versions 0,12, flexible none."""

    group_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupTargetAssignmentMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        versions="0,12",
        flexible="none",
        key=12,
    )
