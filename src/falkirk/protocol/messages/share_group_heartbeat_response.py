"""Generated from schemas/messages/api/76_ShareGroupHeartbeat.schema by tools/generate_messages.py: do not edit."""

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
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class Assignment(WireStruct, gc=False):
    topic_partitions: list[TopicPartitions] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicPartitions", "topic_partitions", TopicPartitions, "0+", array=True),
    )


class ShareGroupHeartbeatResponse(WireMessage, gc=False):
    """ShareGroupHeartbeatResponse: response 76, versions 0-1, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupHeartbeatResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("MemberId", "member_id", "string", "0+", nullable="0+", default=None),
        Field("MemberEpoch", "member_epoch", "int32", "0+"),
        Field("HeartbeatIntervalMs", "heartbeat_interval_ms", "int32", "0+"),
        Field("Assignment", "assignment", Assignment, "0+", nullable="0+", default=None),
        versions="0-1",
        flexible="0+",
        key=76,
    )
