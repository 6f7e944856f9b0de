"""Generated from schemas/messages/group_coordinator/15_ShareGroupStatePartitionMetadata.schema by tools/generate_messages.py: do not edit."""

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


class TopicPartitionsInfo(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("TopicName", "topic_name", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class TopicInfo(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("TopicName", "topic_name", "string", "0+"),
    )


class ShareGroupStatePartitionMetadataValue(WireMessage, gc=False):
    """ShareGroupStatePartitionMetadataValue: coordinator-value 15, versions 0, flexible 0+."""

    initializing_topics: list[TopicPartitionsInfo] = []
    initialized_topics: list[TopicPartitionsInfo] = []
    deleting_topics: list[TopicInfo] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupStatePartitionMetadataValue",
        "coordinator-value",
        Field("InitializingTopics", "initializing_topics", TopicPartitionsInfo, "0+", array=True, layouts=(1,)),
        Field("InitializedTopics", "initialized_topics", TopicPartitionsInfo, "0+", array=True),
        Field("DeletingTopics", "deleting_topics", TopicInfo, "0+", array=True),
        versions="0",
        flexible="0+",
        key=15,
        layouts=2,
    )
