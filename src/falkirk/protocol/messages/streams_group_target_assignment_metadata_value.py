"""Generated from schemas/messages/group_coordinator/20_StreamsGroupTargetAssignmentMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class StreamsGroupTargetAssignmentMetadataValue(WireMessage, gc=False):
    """StreamsGroupTargetAssignmentMetadataValue: coordinator-value 20, versions 0, flexible 0+."""

    assignment_epoch: int = 0
    assignment_timestamp: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupTargetAssignmentMetadataValue",
        "coordinator-value",
        Field("AssignmentEpoch", "assignment_epoch", "int32", "0+"),
        Field("AssignmentTimestamp", "assignment_timestamp", "int64", "0+", tag=0, layouts=(1,)),
        versions="0",
        flexible="0+",
        key=20,
        layouts=2,
    )
