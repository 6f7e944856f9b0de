"""Generated from schemas/messages/api/03_Metadata.schema by tools/generate_messages.py: do not edit."""

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


class MetadataRequestTopic(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    name: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "10+", ignorable=True),
        Field("Name", "name", "string", "0+", nullable="10+"),
    )


class MetadataRequest(WireMessage, gc=False):
    """MetadataRequest: request 3, versions 0-13, flexible 9+."""

    topics: list[MetadataRequestTopic] | None = []
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "MetadataRequest",
        "request",
        Field("Topics", "topics", MetadataRequestTopic, "0+", array=True, nullable="1+"),
        Field("AllowAutoTopicCreation", "allow_auto_topic_creation", "bool", "4+", default=True),
        Field("IncludeClusterAuthorizedOperations", "include_cluster_authorized_operations", "bool", "8-10"),
        Field("IncludeTopicAuthorizedOperations", "include_topic_authorized_operations", "bool", "8+"),
        versions="0-13",
        flexible="9+",
        key=3,
    )
