"""Generated from schemas/messages/remote_log/01_RemoteLogSegmentMetadataUpdateRecord.schema by tools/generate_messages.py: do not edit."""

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


class RemoteLogSegmentIdEntry(WireStruct, gc=False):
    topic_id_partition: TopicIdPartitionEntry = msgspec.field(default_factory=TopicIdPartitionEntry)
    id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicIdPartition", "topic_id_partition", TopicIdPartitionEntry, "0+"),
        Field("Id", "id", "uuid", "0+"),
    )


class RemoteLogSegmentMetadataUpdateRecord(WireMessage, gc=False):
    """RemoteLogSegmentMetadataUpdateRecord: metadata 1, versions 0, flexible 0+."""

    remote_log_segment_id: RemoteLogSegmentIdEntry = msgspec.field(default_factory=RemoteLogSegmentIdEntry)
    broker_id: int = 0
    event_timestamp_ms: int = 0
    custom_metadata: bytes | None = None
    remote_log_segment_state: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RemoteLogSegmentMetadataUpdateRecord",
        "metadata",
        Field("RemoteLogSegmentId", "remote_log_segment_id", RemoteLogSegmentIdEntry, "0+"),
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("EventTimestampMs", "event_timestamp_ms", "int64", "0+"),
        Field("CustomMetadata", "custom_metadata", "bytes", "0+", nullable="0+", default=None),
        Field("RemoteLogSegmentState", "remote_log_segment_state", "int8", "0+"),
        versions="0",
        flexible="0+",
        key=1,
    )
