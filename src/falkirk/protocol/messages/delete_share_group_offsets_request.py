"""Generated from schemas/messages/api/92_DeleteShareGroupOffsets.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DeleteShareGroupOffsetsRequestTopic(WireStruct, gc=False):
    topic_name: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
    )


class DeleteShareGroupOffsetsRequest(WireMessage, gc=False):
    """DeleteShareGroupOffsetsRequest: request 92, versions 0, flexible 0+."""

    group_id: str = ""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DeleteShareGroupOffsetsRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("Topics", "topics", DeleteShareGroupOffsetsRequestTopic, "0+", array=True),
        versions="0",
        flexible="0+",
        key=92,
    )
