"""Generated from schemas/messages/api/59_FetchSnapshot.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class SnapshotId(WireStruct, gc=False):
    end_offset: int = 0
    epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("EndOffset", "end_offset", "int64", "0+"),
        Field("Epoch", "epoch", "int32", "0+"),
    )


class LeaderIdAndEpoch(WireStruct, gc=False):
    leader_id: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("LeaderId", "leader_id", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
    )


class PartitionSnapshot(WireStruct, gc=False):
    index: int = 0
    error_code: int = 0
    snapshot_id: SnapshotId = msgspec.field(default_factory=SnapshotId)
    current_leader: LeaderIdAndEpoch = msgspec.field(default_factory=LeaderIdAndEpoch)
    size: int = 0
    position: int = 0
    unaligned_records: bytes | memoryview | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Index", "index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("SnapshotId", "snapshot_id", SnapshotId, "0+"),
        Field("CurrentLeader", "current_leader", LeaderIdAndEpoch, "0+", tag=0),
        Field("Size", "size", "int64", "0+"),
        Field("Position", "position", "int64", "0+"),
        Field("UnalignedRecords", "unaligned_records", "records", "0+"),
    )


class TopicSnapshot(WireStruct, gc=False):
    name: str = ""
    partitions: list[PartitionSnapshot] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", PartitionSnapshot, "0+", array=True),
    )


class NodeEndpoint(WireStruct, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("NodeId", "node_id", "int32", "1+"),
        Field("Host", "host", "string", "1+"),
        Field("Port", "port", "uint16", "1+"),
    )


class FetchSnapshotResponse(WireMessage, gc=False):
    """FetchSnapshotResponse: response 59, versions 0-1, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    topics: list[TopicSnapshot] = []
    node_endpoints: list[NodeEndpoint] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "FetchSnapshotResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("Topics", "topics", TopicSnapshot, "0+", array=True),
        Field("NodeEndpoints", "node_endpoints", NodeEndpoint, "1+", array=True, tag=0),
        versions="0-1",
        flexible="0+",
        key=59,
    )
