"""Generated from schemas/messages/remote_log/03_RemoteLogSegmentMetadataSnapshotRecord.schema by tools/generate_messages.py: do not edit."""

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


class SegmentLeaderEpochEntry(WireStruct, gc=False):
    leader_epoch: int = 0
    offset: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
        Field("Offset", "offset", "int64", "0+"),
    )


class RemoteLogSegmentMetadataSnapshotRecord(WireMessage, gc=False):
    """RemoteLogSegmentMetadataSnapshotRecord: metadata 3, versions 0, flexible 0+."""

    segment_id: bytes = ZERO_UUID
    start_offset: int = 0
    end_offset: int = 0
    broker_id: int = 0
    max_timestamp_ms: int = 0
    event_timestamp_ms: int = 0
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = []
    segment_size_in_bytes: int = 0
    custom_metadata: bytes | None = None
    remote_log_segment_state: int = 0
    txn_index_empty: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RemoteLogSegmentMetadataSnapshotRecord",
        "metadata",
        Field("SegmentId", "segment_id", "uuid", "0+"),
        Field("StartOffset", "start_offset", "int64", "0+"),
        Field("EndOffset", "end_offset", "int64", "0+"),
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("MaxTimestampMs", "max_timestamp_ms", "int64", "0+"),
        Field("EventTimestampMs", "event_timestamp_ms", "int64", "0+"),
        Field("SegmentLeaderEpochs", "segment_leader_epochs", SegmentLeaderEpochEntry, "0+", array=True),
        Field("SegmentSizeInBytes", "segment_size_in_bytes", "int32", "0+"),
        Field("CustomMetadata", "custom_metadata", "bytes", "0+", nullable="0+", default=None),
        Field("RemoteLogSegmentState", "remote_log_segment_state", "int8", "0+"),
        Field("TxnIndexEmpty", "txn_index_empty", "bool", "0+", tag=0, layouts=(1,)),
        versions="0",
        flexible="0+",
        key=3,
        layouts=2,
    )
