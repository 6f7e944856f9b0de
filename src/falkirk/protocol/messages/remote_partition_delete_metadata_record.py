"""Generated from schemas/messages/remote_log/02_RemotePartitionDeleteMetadataRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from falkirk.protocol.schema import (
    ZERO_UUID,
    Field,
    MessageSchema,
    StructSchema,
    UnknownTaggedFields,
    WireMessage,
    WireStruct,
)


class TopicIdPartitionEntry(WireStruct, gc=False):
    name: str = ""
    id: bytes = ZERO_UUID
    partition: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Id", "id", "uuid", "0+"),
        Field("Partition", "partition", "int32", "0+"),
    )


class RemotePartitionDeleteMetadataRecord(WireMessage, gc=False):
    """RemotePartitionDeleteMetadataRecord: metadata 2, versions 0, flexible 0+."""

    topic_id_partition: TopicIdPartitionEntry = msgspec.field(default_factory=TopicIdPartitionEntry)
    broker_id: int = 0
    event_timestamp_ms: int = 0
    remote_partition_delete_state: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RemotePartitionDeleteMetadataRecord",
        "metadata",
        Field("TopicIdPartition", "topic_id_partition", TopicIdPartitionEntry, "0+"),
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("EventTimestampMs", "event_timestamp_ms", "int64", "0+"),
        Field("RemotePartitionDeleteState", "remote_partition_delete_state", "int8", "0+"),
        versions="0",
        flexible="0+",
        key=2,
    )
