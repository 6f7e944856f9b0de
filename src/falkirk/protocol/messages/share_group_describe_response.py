"""Generated from schemas/messages/api/77_ShareGroupDescribe.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

import msgspec

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
    topic_name: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("TopicName", "topic_name", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class Assignment(WireStruct, gc=False):
    topic_partitions: list[TopicPartitions] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicPartitions", "topic_partitions", TopicPartitions, "0+", array=True),
    )


class Member(WireStruct, gc=False):
    member_id: str = ""
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    assignment: Assignment = msgspec.field(default_factory=Assignment)
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("MemberId", "member_id", "string", "0+"),
        Field("RackId", "rack_id", "string", "0+", nullable="0+", default=None),
        Field("MemberEpoch", "member_epoch", "int32", "0+"),
        Field("ClientId", "client_id", "string", "0+"),
        Field("ClientHost", "client_host", "string", "0+"),
        Field("SubscribedTopicNames", "subscribed_topic_names", "string", "0+", array=True),
        Field("Assignment", "assignment", Assignment, "0+"),
    )


class DescribedGroup(WireStruct, gc=False):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: list[Member] = []
    authorized_operations: int = -2147483648
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("GroupId", "group_id", "string", "0+"),
        Field("GroupState", "group_state", "string", "0+"),
        Field("GroupEpoch", "group_epoch", "int32", "0+"),
        Field("AssignmentEpoch", "assignment_epoch", "int32", "0+"),
        Field("AssignorName", "assignor_name", "string", "0+"),
        Field("Members", "members", Member, "0+", array=True),
        Field("AuthorizedOperations", "authorized_operations", "int32", "0+", default=-2147483648),
    )


class ShareGroupDescribeResponse(WireMessage, gc=False):
    """ShareGroupDescribeResponse: response 77, versions 0-1, flexible 0+."""

    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupDescribeResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Groups", "groups", DescribedGroup, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=77,
    )
