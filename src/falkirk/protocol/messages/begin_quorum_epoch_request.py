"""Generated from schemas/messages/api/53_BeginQuorumEpoch.schema by tools/generate_messages.py: do not edit."""

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
    voter_directory_id: bytes = ZERO_UUID
    leader_id: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("VoterDirectoryId", "voter_directory_id", "uuid", "1+", ignorable=True),
        Field("LeaderId", "leader_id", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
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


class BeginQuorumEpochRequest(WireMessage, gc=False):
    """BeginQuorumEpochRequest: request 53, versions 0-1, flexible 1+."""

    cluster_id: str | None = None
    voter_id: int = -1
    topics: list[TopicData] = []
    leader_endpoints: list[LeaderEndpoint] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "BeginQuorumEpochRequest",
        "request",
        Field("ClusterId", "cluster_id", "string", "0+", nullable="0+", default=None),
        Field("VoterId", "voter_id", "int32", "1+", default=-1, ignorable=True),
        Field("Topics", "topics", TopicData, "0+", array=True),
        Field("LeaderEndpoints", "leader_endpoints", LeaderEndpoint, "1+", array=True, ignorable=True),
        versions="0-1",
        flexible="1+",
        key=53,
    )
