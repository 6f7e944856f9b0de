"""Generated from schemas/messages/api/01_Fetch.schema by tools/generate_messages.py: do not edit."""

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


class EpochEndOffset(WireStruct, gc=False):
    epoch: int = -1
    end_offset: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Epoch", "epoch", "int32", "12+", default=-1),
        Field("EndOffset", "end_offset", "int64", "12+", default=-1),
    )


class LeaderIdAndEpoch(WireStruct, gc=False):
    leader_id: int = -1
    leader_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("LeaderId", "leader_id", "int32", "12+", default=-1),
        Field("LeaderEpoch", "leader_epoch", "int32", "12+", default=-1),
    )


class SnapshotId(WireStruct, gc=False):
    end_offset: int = -1
    epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("EndOffset", "end_offset", "int64", "0+", default=-1),
        Field("Epoch", "epoch", "int32", "0+", default=-1),
    )


class AbortedTransaction(WireStruct, gc=False):
    producer_id: int = 0
    first_offset: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ProducerId", "producer_id", "int64", "4+"),
        Field("FirstOffset", "first_offset", "int64", "4+"),
    )


class PartitionData(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    high_watermark: int = 0
    last_stable_offset: int = -1
    log_start_offset: int = -1
    diverging_epoch: EpochEndOffset = msgspec.field(default_factory=EpochEndOffset)
    current_leader: LeaderIdAndEpoch = msgspec.field(default_factory=LeaderIdAndEpoch)
    snapshot_id: SnapshotId = msgspec.field(default_factory=SnapshotId)
    aborted_transactions: list[AbortedTransaction] | None = []
    preferred_read_replica: int = -1
    records: bytes | memoryview | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("HighWatermark", "high_watermark", "int64", "0+"),
        Field("LastStableOffset", "last_stable_offset", "int64", "4+", default=-1, ignorable=True),
        Field("LogStartOffset", "log_start_offset", "int64", "5+", default=-1, ignorable=True),
        Field("DivergingEpoch", "diverging_epoch", EpochEndOffset, "12+", tag=0, ignorable=True),
        Field("CurrentLeader", "current_leader", LeaderIdAndEpoch, "12+", tag=1, ignorable=True),
        Field("SnapshotId", "snapshot_id", SnapshotId, "12+", tag=2),
        Field(
            "AbortedTransactions",
            "aborted_transactions",
            AbortedTransaction,
            "4+",
            array=True,
            nullable="4+",
            ignorable=True,
        ),
        Field("PreferredReadReplica", "preferred_read_replica", "int32", "11+", default=-1),
        Field("Records", "records", "records", "0+", nullable="0+"),
    )


class FetchableTopicResponse(WireStruct, gc=False):
    topic: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0-12", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "13+", ignorable=True),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class NodeEndpoint(WireStruct, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("NodeId", "node_id", "int32", "16+"),
        Field("Host", "host", "string", "16+"),
        Field("Port", "port", "int32", "16+"),
        Field("Rack", "rack", "string", "16+", nullable="16+", default=None),
    )


class FetchResponse(WireMessage, gc=False):
    """FetchResponse: response 1, versions 0-18, flexible 12+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    session_id: int = 0
    responses: list[FetchableTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "FetchResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "1+", ignorable=True),
        Field("ErrorCode", "error_code", "int16", "7+", ignorable=True),
        Field("SessionId", "session_id", "int32", "7+"),
        Field("Responses", "responses", FetchableTopicResponse, "0+", array=True),
        Field("NodeEndpoints", "node_endpoints", NodeEndpoint, "16+", array=True, tag=0),
        versions="0-18",
        flexible="12+",
        key=1,
    )
