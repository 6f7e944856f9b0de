"""Generated from schemas/messages/api/54_EndQuorumEpoch.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class PartitionData(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    leader_id: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
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


class EndQuorumEpochResponse(WireMessage, gc=False):
    """EndQuorumEpochResponse: response 54, versions 0-1, flexible 1+."""

    error_code: int = 0
    topics: list[TopicData] = []
    node_endpoints: list[NodeEndpoint] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "EndQuorumEpochResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("Topics", "topics", TopicData, "0+", array=True),
        Field("NodeEndpoints", "node_endpoints", NodeEndpoint, "1+", array=True, tag=0),
        versions="0-1",
        flexible="1+",
        key=54,
    )
