"""Generated from schemas/messages/api/54_EndQuorumEpoch.schema by tools/generate_messages.py: do not edit."""

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


class ReplicaInfo(WireStruct, gc=False):
    candidate_id: int = 0
    candidate_directory_id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("CandidateId", "candidate_id", "int32", "1+"),
        Field("CandidateDirectoryId", "candidate_directory_id", "uuid", "1+"),
    )


class PartitionData(WireStruct, gc=False):
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = 0
    preferred_successors: tuple[int, ...] = ()
    preferred_candidates: list[ReplicaInfo] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("LeaderId", "leader_id", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
        Field("PreferredSuccessors", "preferred_successors", "int32", "0", array=True, ignorable=True),
        Field("PreferredCandidates", "preferred_candidates", ReplicaInfo, "1+", array=True, ignorable=True),
    )


class TopicData(WireStruct, gc=False):
    topic_name: str = ""
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class LeaderEndpoint(WireStruct, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "1+"),
        Field("Host", "host", "string", "1+"),
        Field("Port", "port", "uint16", "1+"),
    )


class EndQuorumEpochRequest(WireMessage, gc=False):
    """EndQuorumEpochRequest: request 54, versions 0-1, flexible 1+."""

    cluster_id: str | None = None
    topics: list[TopicData] = []
    leader_endpoints: list[LeaderEndpoint] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "EndQuorumEpochRequest",
        "request",
        Field("ClusterId", "cluster_id", "string", "0+", nullable="0+", default=None),
        Field("Topics", "topics", TopicData, "0+", array=True),
        Field("LeaderEndpoints", "leader_endpoints", LeaderEndpoint, "1+", array=True, ignorable=True),
        versions="0-1",
        flexible="1+",
        key=54,
    )
