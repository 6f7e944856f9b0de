"""Generated from schemas/messages/api/68_ConsumerGroupHeartbeat.schema by tools/generate_messages.py: do not edit."""

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


class ConsumerGroupHeartbeatRequest(WireMessage, gc=False):
    """ConsumerGroupHeartbeatRequest: request 68, versions 0-1, flexible 0+."""

    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: list[TopicPartitions] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupHeartbeatRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        Field("MemberEpoch", "member_epoch", "int32", "0+"),
        Field("InstanceId", "instance_id", "string", "0+", nullable="0+", default=None),
        Field("RackId", "rack_id", "string", "0+", nullable="0+", default=None),
        Field("RebalanceTimeoutMs", "rebalance_timeout_ms", "int32", "0+", default=-1),
        Field(
            "SubscribedTopicNames", "subscribed_topic_names", "string", "0+", array=True, nullable="0+", default=None
        ),
        Field("SubscribedTopicRegex", "subscribed_topic_regex", "string", "1+", nullable="1+", default=None),
        Field("ServerAssignor", "server_assignor", "string", "0+", nullable="0+", default=None),
        Field("TopicPartitions", "topic_partitions", TopicPartitions, "0+", array=True, nullable="0+", default=None),
        versions="0-1",
        flexible="0+",
        key=68,
    )
