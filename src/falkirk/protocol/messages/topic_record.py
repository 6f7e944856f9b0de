"""Generated from schemas/messages/metadata/02_TopicRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class TopicRecord(WireMessage, gc=False):
    """TopicRecord: metadata 2, versions 0, flexible 0+."""

    name: str = ""
    topic_id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "TopicRecord",
        "metadata",
        Field("Name", "name", "string", "0+"),
        Field("TopicId", "topic_id", "uuid", "0+"),
        versions="0",
        flexible="0+",
        key=2,
    )
