"""Generated from schemas/messages/metadata/09_RemoveTopicRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class RemoveTopicRecord(WireMessage, gc=False):
    """RemoveTopicRecord: metadata 9, versions 0, flexible 0+."""

    topic_id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RemoveTopicRecord",
        "metadata",
        Field("TopicId", "topic_id", "uuid", "0+"),
        versions="0",
        flexible="0+",
        key=9,
    )
