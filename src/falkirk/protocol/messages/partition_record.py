"""Generated from schemas/messages/metadata/03_PartitionRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class PartitionRecord(WireMessage, gc=False):
    """PartitionRecord: metadata 3, versions 0-2, flexible 0+."""

    partition_id: int = -1
    topic_id: bytes = ZERO_UUID
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader: int = -1
    leader_recovery_state: int = 0
    leader_epoch: int = -1
    partition_epoch: int = -1
    directories: tuple[bytes, ...] = ()
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "PartitionRecord",
        "metadata",
        Field("PartitionId", "partition_id", "int32", "0+", default=-1),
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Replicas", "replicas", "int32", "0+", array=True),
        Field("Isr", "isr", "int32", "0+", array=True),
        Field("RemovingReplicas", "removing_replicas", "int32", "0+", array=True),
        Field("AddingReplicas", "adding_replicas", "int32", "0+", array=True),
        Field("Leader", "leader", "int32", "0+", default=-1),
        Field("LeaderRecoveryState", "leader_recovery_state", "int8", "0+", tag=0),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+", default=-1),
        Field("PartitionEpoch", "partition_epoch", "int32", "0+", default=-1),
        Field("Directories", "directories", "uuid", "1+", array=True),
        Field(
            "EligibleLeaderReplicas",
            "eligible_leader_replicas",
            "int32",
            "2+",
            array=True,
            nullable="2+",
            tag=1,
            default=None,
        ),
        Field(
            "LastKnownElr",
            "last_known_elr",
            "int32",
            "2+",
            array=True,
            nullable="2+",
            tag=2,
            default=None,
            old_names={0: "LastKnownELR"},
        ),
        versions="0-2",
        flexible="0+",
        key=3,
        layouts=2,
    )
