"""Generated from schemas/messages/api/73_AssignReplicasToDirs.schema by tools/generate_messages.py: do not edit."""

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
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
    )


class TopicData(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class DirectoryData(WireStruct, gc=False):
    id: bytes = ZERO_UUID
    topics: list[TopicData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Id", "id", "uuid", "0+"),
        Field("Topics", "topics", TopicData, "0+", array=True),
    )


class AssignReplicasToDirsRequest(WireMessage, gc=False):
    """AssignReplicasToDirsRequest: request 73, versions 0, flexible 0+."""

    broker_id: int = 0
    broker_epoch: int = -1
    directories: list[DirectoryData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AssignReplicasToDirsRequest",
        "request",
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "0+", default=-1),
        Field("Directories", "directories", DirectoryData, "0+", array=True),
        versions="0",
        flexible="0+",
        key=73,
    )
