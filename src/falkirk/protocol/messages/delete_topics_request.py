"""Generated from schemas/messages/api/20_DeleteTopics.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import (
    ZERO_UUID,
    Field,
    MessageSchema,
    StructSchema,
    UnknownTaggedFields,
    WireMessage,
    WireStruct,
)


class DeleteTopicState(WireStruct, gc=False):
    name: str | None = None
    topic_id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "6+", nullable="6+", default=None),
        Field("TopicId", "topic_id", "uuid", "6+"),
    )


class DeleteTopicsRequest(WireMessage, gc=False):
    """DeleteTopicsRequest: request 20, versions 0-6, flexible 4+."""

    topic_names: tuple[str, ...] = ()
    topics: list[DeleteTopicState] = []
    timeout_ms: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DeleteTopicsRequest",
        "request",
        Field("TopicNames", "topic_names", "string", "0-5", array=True, ignorable=True),
        Field("Topics", "topics", DeleteTopicState, "6+", array=True),
        Field("TimeoutMs", "timeout_ms", "int32", "0+"),
        versions="0-6",
        flexible="4+",
        key=20,
    )
