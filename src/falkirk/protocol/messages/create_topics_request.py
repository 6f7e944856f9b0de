"""Generated from schemas/messages/api/19_CreateTopics.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class CreatableReplicaAssignment(WireStruct, gc=False):
    partition_index: int = 0
    broker_ids: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("BrokerIds", "broker_ids", "int32", "0+", array=True),
    )


class CreatableTopicConfig(WireStruct, gc=False):
    name: str = ""
    value: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Value", "value", "string", "0+", nullable="0+"),
    )


class CreatableTopic(WireStruct, gc=False):
    name: str = ""
    num_partitions: int = 0
    replication_factor: int = 0
    assignments: list[CreatableReplicaAssignment] = []
    configs: list[CreatableTopicConfig] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("NumPartitions", "num_partitions", "int32", "0+"),
        Field("ReplicationFactor", "replication_factor", "int16", "0+"),
        Field("Assignments", "assignments", CreatableReplicaAssignment, "0+", array=True),
        Field("Configs", "configs", CreatableTopicConfig, "0+", array=True),
    )


class CreateTopicsRequest(WireMessage, gc=False):
    """CreateTopicsRequest: request 19, versions 0-7, flexible 5+."""

    topics: list[CreatableTopic] = []
    timeout_ms: int = 60000
    validate_only: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "CreateTopicsRequest",
        "request",
        Field("Topics", "topics", CreatableTopic, "0+", array=True),
        Field("timeoutMs", "timeout_ms", "int32", "0+", default=60000),
        Field("validateOnly", "validate_only", "bool", "1+"),
        versions="0-7",
        flexible="5+",
        key=19,
    )
