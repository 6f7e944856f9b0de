"""Generated from schemas/messages/api/56_AlterPartition.schema by tools/generate_messages.py: do not edit."""

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


class BrokerState(WireStruct, gc=False):
    broker_id: int = 0
    broker_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("BrokerId", "broker_id", "int32", "3+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "3+", default=-1),
    )


class PartitionData(WireStruct, gc=False):
    partition_index: int = 0
    leader_epoch: int = 0
    new_isr: tuple[int, ...] = ()
    new_isr_with_epochs: list[BrokerState] = []
    leader_recovery_state: int = 0
    partition_epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
        Field("NewIsr", "new_isr", "int32", "0-2", array=True),
        Field("NewIsrWithEpochs", "new_isr_with_epochs", BrokerState, "3+", array=True),
        Field("LeaderRecoveryState", "leader_recovery_state", "int8", "1+"),
        Field("PartitionEpoch", "partition_epoch", "int32", "0+"),
    )


class TopicData(WireStruct, gc=False):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0-1", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "2+", ignorable=True),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class AlterPartitionRequest(WireMessage, gc=False):
    """AlterPartitionRequest: request 56, versions 0-3, flexible 0+."""

    broker_id: int = 0
    broker_epoch: int = -1
    topics: list[TopicData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterPartitionRequest",
        "request",
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "0+", default=-1),
        Field("Topics", "topics", TopicData, "0+", array=True),
        versions="0-3",
        flexible="0+",
        key=56,
    )
