"""Generated from schemas/messages/api/06_UpdateMetadata.schema by tools/generate_messages.py: do not edit."""

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


class UpdateMetadataPartitionState(WireStruct, gc=False):
    topic_name: str = ""
    partition_index: int = 0
    controller_epoch: int = 0
    leader: int = 0
    leader_epoch: int = 0
    isr: tuple[int, ...] = ()
    zk_version: int = 0
    replicas: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0-4", ignorable=True),
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ControllerEpoch", "controller_epoch", "int32", "0+"),
        Field("Leader", "leader", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
        Field("Isr", "isr", "int32", "0+", array=True),
        Field("ZkVersion", "zk_version", "int32", "0+"),
        Field("Replicas", "replicas", "int32", "0+", array=True),
        Field("OfflineReplicas", "offline_replicas", "int32", "4+", array=True, ignorable=True),
    )


class UpdateMetadataTopicState(WireStruct, gc=False):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_states: list[UpdateMetadataPartitionState] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "5+"),
        Field("TopicId", "topic_id", "uuid", "7+", ignorable=True),
        Field("PartitionStates", "partition_states", UpdateMetadataPartitionState, "5+", array=True),
    )


class UpdateMetadataEndpoint(WireStruct, gc=False):
    port: int = 0
    host: str = ""
    listener: str = ""
    security_protocol: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Port", "port", "int32", "1+"),
        Field("Host", "host", "string", "1+"),
        Field("Listener", "listener", "string", "3+", ignorable=True),
        Field("SecurityProtocol", "security_protocol", "int16", "1+"),
    )


class UpdateMetadataBroker(WireStruct, gc=False):
    id: int = 0
    v0_host: str = ""
    v0_port: int = 0
    endpoints: list[UpdateMetadataEndpoint] = []
    rack: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Id", "id", "int32", "0+"),
        Field("V0Host", "v0_host", "string", "0", ignorable=True),
        Field("V0Port", "v0_port", "int32", "0", ignorable=True),
        Field("Endpoints", "endpoints", UpdateMetadataEndpoint, "1+", array=True, ignorable=True),
        Field("Rack", "rack", "string", "2+", nullable="2+", ignorable=True),
    )


class UpdateMetadataRequest(WireMessage, gc=False):
    """UpdateMetadataRequest: request 6, versions 0-8, flexible 6+."""

    controller_id: int = 0
    is_kraft_controller: bool = False
    type: int = 0
    controller_epoch: int = 0
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = []
    broker_epoch: int = -1
    topic_states: list[UpdateMetadataTopicState] = []
    live_brokers: list[UpdateMetadataBroker] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UpdateMetadataRequest",
        "request",
        Field("ControllerId", "controller_id", "int32", "0+"),
        Field("isKRaftController", "is_kraft_controller", "bool", "8+"),
        Field("Type", "type", "int8", "8+", tag=0),
        Field("ControllerEpoch", "controller_epoch", "int32", "0+"),
        Field(
            "UngroupedPartitionStates", "ungrouped_partition_states", UpdateMetadataPartitionState, "0-4", array=True
        ),
        Field("BrokerEpoch", "broker_epoch", "int64", "5+", default=-1, ignorable=True),
        Field("TopicStates", "topic_states", UpdateMetadataTopicState, "5+", array=True),
        Field("LiveBrokers", "live_brokers", UpdateMetadataBroker, "0+", array=True),
        versions="0-8",
        flexible="6+",
        key=6,
    )
