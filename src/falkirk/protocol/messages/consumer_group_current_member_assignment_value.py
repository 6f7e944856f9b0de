"""Generated from schemas/messages/group_coordinator/08_ConsumerGroupCurrentMemberAssignment.schema by tools/generate_messages.py: do not edit."""

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


class TopicPartitions(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: tuple[int, ...] = ()
    assignment_epochs: tuple[int, ...] | None = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
        Field("AssignmentEpochs", "assignment_epochs", "int32", "0+", array=True, nullable="0+", tag=0, layouts=(2,)),
    )


class ConsumerGroupCurrentMemberAssignmentValue(WireMessage, gc=False):
    """ConsumerGroupCurrentMemberAssignmentValue: coordinator-value 8, versions 0, flexible 0+."""

    member_epoch: int = 0
    previous_member_epoch: int = 0
    target_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[TopicPartitions] = []
    partitions_pending_revocation: list[TopicPartitions] = []
    partitions_pending_assignment: list[TopicPartitions] = []
    error: int = 0
    metadata_version: int = 0
    metadata_bytes: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupCurrentMemberAssignmentValue",
        "coordinator-value",
        Field("MemberEpoch", "member_epoch", "int32", "0+"),
        Field("PreviousMemberEpoch", "previous_member_epoch", "int32", "0+"),
        Field("TargetMemberEpoch", "target_member_epoch", "int32", "0+", layouts=(0,)),
        Field("State", "state", "int8", "0+", layouts=(1, 2)),
        Field("AssignedPartitions", "assigned_partitions", TopicPartitions, "0+", array=True),
        Field("PartitionsPendingRevocation", "partitions_pending_revocation", TopicPartitions, "0+", array=True),
        Field(
            "PartitionsPendingAssignment",
            "partitions_pending_assignment",
            TopicPartitions,
            "0+",
            array=True,
            layouts=(0,),
        ),
        Field("Error", "error", "int8", "0+", layouts=(0,)),
        Field("MetadataVersion", "metadata_version", "int16", "0+", layouts=(0,)),
        Field("MetadataBytes", "metadata_bytes", "bytes", "0+", layouts=(0,)),
        versions="0",
        flexible="0+",
        key=8,
        layouts=3,
    )
