"""Generated from schemas/messages/api/23_OffsetForLeaderEpoch.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class OffsetForLeaderPartition(WireStruct, gc=False):
    partition: int = 0
    current_leader_epoch: int = -1
    leader_epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Partition", "partition", "int32", "0+"),
        Field("CurrentLeaderEpoch", "current_leader_epoch", "int32", "2+", default=-1, ignorable=True),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
    )


class OffsetForLeaderTopic(WireStruct, gc=False):
    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0+"),
        Field("Partitions", "partitions", OffsetForLeaderPartition, "0+", array=True),
    )


class OffsetForLeaderEpochRequest(WireMessage, gc=False):
    """OffsetForLeaderEpochRequest: request 23, versions 0-4, flexible 4+."""

    replica_id: int = -2
    topics: list[OffsetForLeaderTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "OffsetForLeaderEpochRequest",
        "request",
        Field("ReplicaId", "replica_id", "int32", "3+", default=-2, ignorable=True),
        Field("Topics", "topics", OffsetForLeaderTopic, "0+", array=True),
        versions="0-4",
        flexible="4+",
        key=23,
    )
