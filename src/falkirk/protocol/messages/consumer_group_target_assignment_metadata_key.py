"""Generated from schemas/messages/group_coordinator/06_ConsumerGroupTargetAssignmentMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ConsumerGroupTargetAssignmentMetadataKey(WireMessage, gc=False):
    """ConsumerGroupTargetAssignmentMetadataKey: coordinator-key 6, versions 0,6, flexible none."""

    group_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupTargetAssignmentMetadataKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        versions="0,6",
        flexible="none",
        key=6,
    )
