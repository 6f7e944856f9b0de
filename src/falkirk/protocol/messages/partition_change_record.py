"""Generated from schemas/messages/metadata/05_PartitionChangeRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class PartitionChangeRecord(WireMessage, gc=False):
    """PartitionChangeRecord: metadata 5, versions 0-2, flexible 0+."""

    partition_id: int = -1
    topic_id: bytes = ZERO_UUID
    isr: tuple[int, ...] | None = None
    leader: int = -2
    replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    leader_recovery_state: int = -1
    directories: tuple[bytes, ...] | None = None
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "PartitionChangeRecord",
        "metadata",
        Field("PartitionId", "partition_id", "int32", "0+", default=-1),
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Isr", "isr", "int32", "0+", array=True, nullable="0+", tag=0, default=None),
        Field("Leader", "leader", "int32", "0+", tag=1, default=-2),
        Field("Replicas", "replicas", "int32", "0+", array=True, nullable="0+", tag=2, default=None),
        Field("RemovingReplicas", "removing_replicas", "int32", "0+", array=True, nullable="0+", tag=3, default=None),
        Field("AddingReplicas", "adding_replicas", "int32", "0+", array=True, nullable="0+", tag=4, default=None),
        Field("LeaderRecoveryState", "leader_recovery_state", "int8", "0+", tag=5, default=-1),
        Field("Directories", "directories", "uuid", "1+", array=True, nullable="1+", tag=8, default=None),
        Field(
            "EligibleLeaderReplicas",
            "eligible_leader_replicas",
            "int32",
            "2+",
            array=True,
            nullable="2+",
            tag=6,
            default=None,
        ),
        Field(
            "LastKnownElr",
            "last_known_elr",
            "int32",
            "2+",
            array=True,
            nullable="2+",
            tag=7,
            default=None,
            old_names={0: "LastKnownELR"},
        ),
        versions="0-2",
        flexible="0+",
        key=5,
        layouts=2,
    )
