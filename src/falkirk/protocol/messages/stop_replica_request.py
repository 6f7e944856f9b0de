"""Generated from schemas/messages/api/05_StopReplica.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class StopReplicaPartitionV0(WireStruct, gc=False):
    topic_name: str = ""
    partition_index: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0"),
        Field("PartitionIndex", "partition_index", "int32", "0"),
    )


class StopReplicaTopicV1(WireStruct, gc=False):
    name: str = ""
    partition_indexes: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "1-2"),
        Field("PartitionIndexes", "partition_indexes", "int32", "1-2", array=True),
    )


class StopReplicaPartitionState(WireStruct, gc=False):
    partition_index: int = 0
    leader_epoch: int = -1
    delete_partition: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "3+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "3+", default=-1),
        Field("DeletePartition", "delete_partition", "bool", "3+"),
    )


class StopReplicaTopicState(WireStruct, gc=False):
    topic_name: str = ""
    partition_states: list[StopReplicaPartitionState] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "3+"),
        Field("PartitionStates", "partition_states", StopReplicaPartitionState, "3+", array=True),
    )


class StopReplicaRequest(WireMessage, gc=False):
    """StopReplicaRequest: request 5, versions 0-4, flexible 2+."""

    controller_id: int = 0
    is_kraft_controller: bool = False
    controller_epoch: int = 0
    broker_epoch: int = -1
    delete_partitions: bool = False
    ungrouped_partitions: list[StopReplicaPartitionV0] = []
    topics: list[StopReplicaTopicV1] = []
    topic_states: list[StopReplicaTopicState] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StopReplicaRequest",
        "request",
        Field("ControllerId", "controller_id", "int32", "0+"),
        Field("isKRaftController", "is_kraft_controller", "bool", "4+"),
        Field("ControllerEpoch", "controller_epoch", "int32", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "1+", default=-1, ignorable=True),
        Field("DeletePartitions", "delete_partitions", "bool", "0-2"),
        Field("UngroupedPartitions", "ungrouped_partitions", StopReplicaPartitionV0, "0", array=True),
        Field("Topics", "topics", StopReplicaTopicV1, "1-2", array=True),
        Field("TopicStates", "topic_states", StopReplicaTopicState, "3+", array=True),
        versions="0-4",
        flexible="2+",
        key=5,
    )
