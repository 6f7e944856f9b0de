"""Generated from schemas/messages/metadata/28_ClearElrRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ClearElrRecord(WireMessage, gc=False):
    """ClearElrRecord: metadata 28, versions 0, flexible 0+."""

    topic_name: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ClearElrRecord",
        "metadata",
        Field("TopicName", "topic_name", "string", "0+"),
        versions="0",
        flexible="0+",
        key=28,
    )
