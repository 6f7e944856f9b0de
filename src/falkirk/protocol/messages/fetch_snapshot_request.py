"""Generated from schemas/messages/api/59_FetchSnapshot.schema by tools/generate_messages.py: do not edit."""

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


class SnapshotId(WireStruct, gc=False):
    end_offset: int = 0
    epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("EndOffset", "end_offset", "int64", "0+"),
        Field("Epoch", "epoch", "int32", "0+"),
    )


class PartitionSnapshot(WireStruct, gc=False):
    partition: int = 0
    current_leader_epoch: int = 0
    snapshot_id: SnapshotId = msgspec.field(default_factory=SnapshotId)
    position: int = 0
    replica_directory_id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Partition", "partition", "int32", "0+"),
        Field("CurrentLeaderEpoch", "current_leader_epoch", "int32", "0+"),
        Field("SnapshotId", "snapshot_id", SnapshotId, "0+"),
        Field("Position", "position", "int64", "0+"),
        Field("ReplicaDirectoryId", "replica_directory_id", "uuid", "1+", tag=0, ignorable=True),
    )


class TopicSnapshot(WireStruct, gc=False):
    name: str = ""
    partitions: list[PartitionSnapshot] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", PartitionSnapshot, "0+", array=True),
    )


class FetchSnapshotRequest(WireMessage, gc=False):
    """FetchSnapshotRequest: request 59, versions 0-1, flexible 0+."""

    cluster_id: str | None = None
    replica_id: int = -1
    max_bytes: int = 2147483647
    topics: list[TopicSnapshot] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "FetchSnapshotRequest",
        "request",
        Field("ClusterId", "cluster_id", "string", "0+", nullable="0+", tag=0, default=None),
        Field("ReplicaId", "replica_id", "int32", "0+", default=-1),
        Field("MaxBytes", "max_bytes", "int32", "0+", default=2147483647),
        Field("Topics", "topics", TopicSnapshot, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=59,
    )
