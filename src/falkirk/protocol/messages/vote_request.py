"""Generated from schemas/messages/api/52_Vote.schema by tools/generate_messages.py: do not edit."""

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


class PartitionData(WireStruct, gc=False):
    partition_index: int = 0
    replica_epoch: int = 0
    replica_id: int = 0
    replica_directory_id: bytes = ZERO_UUID
    voter_directory_id: bytes = ZERO_UUID
    last_offset_epoch: int = 0
    last_offset: int = 0
    pre_vote: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ReplicaEpoch", "replica_epoch", "int32", "0+", old_names={0: "CandidateEpoch"}),
        Field("ReplicaId", "replica_id", "int32", "0+", old_names={0: "CandidateId"}),
        Field(
            "ReplicaDirectoryId",
            "replica_directory_id",
            "uuid",
            "1+",
            ignorable=True,
            old_names={0: "CandidateDirectoryId"},
        ),
        Field("VoterDirectoryId", "voter_directory_id", "uuid", "1+", ignorable=True),
        Field("LastOffsetEpoch", "last_offset_epoch", "int32", "0+"),
        Field("LastOffset", "last_offset", "int64", "0+"),
        Field("PreVote", "pre_vote", "bool", "2+"),
    )


class TopicData(WireStruct, gc=False):
    topic_name: str = ""
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class VoteRequest(WireMessage, gc=False):
    """VoteRequest: request 52, versions 0-2, flexible 0+."""

    cluster_id: str | None = None
    voter_id: int = -1
    topics: list[TopicData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "VoteRequest",
        "request",
        Field("ClusterId", "cluster_id", "string", "0+", nullable="0+", default=None),
        Field("VoterId", "voter_id", "int32", "1+", default=-1, ignorable=True),
        Field("Topics", "topics", TopicData, "0+", array=True),
        versions="0-2",
        flexible="0+",
        key=52,
        layouts=2,
    )
