"""Generated from schemas/messages/api/04_LeaderAndIsr.schema by tools/generate_messages.py: do not edit."""

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


class LeaderAndIsrPartitionState(WireStruct, gc=False):
    topic_name: str = ""
    partition_index: int = 0
    controller_epoch: int = 0
    leader: int = 0
    leader_epoch: int = 0
    isr: tuple[int, ...] = ()
    partition_epoch: int = 0
    replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    is_new: bool = False
    leader_recovery_state: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0-1", ignorable=True),
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ControllerEpoch", "controller_epoch", "int32", "0+"),
        Field("Leader", "leader", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
        Field("Isr", "isr", "int32", "0+", array=True),
        Field("PartitionEpoch", "partition_epoch", "int32", "0+"),
        Field("Replicas", "replicas", "int32", "0+", array=True),
        Field("AddingReplicas", "adding_replicas", "int32", "3+", array=True, ignorable=True),
        Field("RemovingReplicas", "removing_replicas", "int32", "3+", array=True, ignorable=True),
        Field("IsNew", "is_new", "bool", "1+", ignorable=True),
        Field("LeaderRecoveryState", "leader_recovery_state", "int8", "6+"),
    )


class LeaderAndIsrTopicState(WireStruct, gc=False):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_states: list[LeaderAndIsrPartitionState] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "2+"),
        Field("TopicId", "topic_id", "uuid", "5+", ignorable=True),
        Field("PartitionStates", "partition_states", LeaderAndIsrPartitionState, "2+", array=True),
    )


class LeaderAndIsrLiveLeader(WireStruct, gc=False):
    broker_id: int = 0
    host_name: str = ""
    port: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("HostName", "host_name", "string", "0+"),
        Field("Port", "port", "int32", "0+"),
    )


class LeaderAndIsrRequest(WireMessage, gc=False):
    """LeaderAndIsrRequest: request 4, versions 0-7, flexible 4+."""

    controller_id: int = 0
    is_kraft_controller: bool = False
    controller_epoch: int = 0
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = []
    broker_epoch: int = -1
    type: int = 0
    topic_states: list[LeaderAndIsrTopicState] = []
    live_leaders: list[LeaderAndIsrLiveLeader] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "LeaderAndIsrRequest",
        "request",
        Field("ControllerId", "controller_id", "int32", "0+"),
        Field("isKRaftController", "is_kraft_controller", "bool", "7+"),
        Field("ControllerEpoch", "controller_epoch", "int32", "0+"),
        Field("UngroupedPartitionStates", "ungrouped_partition_states", LeaderAndIsrPartitionState, "0-1", array=True),
        Field("BrokerEpoch", "broker_epoch", "int64", "2+", default=-1, ignorable=True),
        Field("Type", "type", "int8", "5+"),
        Field("TopicStates", "topic_states", LeaderAndIsrTopicState, "2+", array=True),
        Field("LiveLeaders", "live_leaders", LeaderAndIsrLiveLeader, "0+", array=True),
        versions="0-7",
        flexible="4+",
        key=4,
    )
