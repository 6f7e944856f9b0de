"""Generated from schemas/messages/group_coordinator/04_ConsumerGroupPartitionMetadata.schema by tools/generate_messages.py: do not edit."""

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


class PartitionMetadata(WireStruct, gc=False):
    partition: int = 0
    racks: tuple[str, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Partition", "partition", "int32", "0+"),
        Field("Racks", "racks", "string", "0+", array=True),
    )


class TopicMetadata(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""
    num_partitions: int = 0
    partition_metadata: list[PartitionMetadata] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("TopicName", "topic_name", "string", "0+"),
        Field("NumPartitions", "num_partitions", "int32", "0+"),
        Field("PartitionMetadata", "partition_metadata", PartitionMetadata, "0+", array=True),
    )


class ConsumerGroupPartitionMetadataValue(WireMessage, gc=False):
    """ConsumerGroupPartitionMetadataValue: coordinator-value 4, versions 0, flexible 0+."""

    epoch: int = 0
    topics: list[TopicMetadata] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupPartitionMetadataValue",
        "coordinator-value",
        Field("Epoch", "epoch", "int32", "0+", layouts=(0,)),
        Field("Topics", "topics", TopicMetadata, "0+", array=True),
        versions="0",
        flexible="0+",
        key=4,
        layouts=2,
    )
