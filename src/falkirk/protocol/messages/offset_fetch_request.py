"""Generated from schemas/messages/api/09_OffsetFetch.schema by tools/generate_messages.py: do not edit."""

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


class OffsetFetchRequestTopic(WireStruct, gc=False):
    name: str = ""
    partition_indexes: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0-7"),
        Field("PartitionIndexes", "partition_indexes", "int32", "0-7", array=True),
    )


class OffsetFetchRequestTopics(WireStruct, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_indexes: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "8-9", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "10+", ignorable=True),
        Field("PartitionIndexes", "partition_indexes", "int32", "8+", array=True),
    )


class OffsetFetchRequestGroup(WireStruct, gc=False):
    group_id: str = ""
    member_id: str | None = None
    member_epoch: int = -1
    topics: list[OffsetFetchRequestTopics] | None = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("GroupId", "group_id", "string", "8+"),
        Field("MemberId", "member_id", "string", "9+", nullable="9+", default=None, ignorable=True),
        Field("MemberEpoch", "member_epoch", "int32", "9+", default=-1, ignorable=True),
        Field("Topics", "topics", OffsetFetchRequestTopics, "8+", array=True, nullable="8+"),
    )


class OffsetFetchRequest(WireMessage, gc=False):
    """OffsetFetchRequest: request 9, versions 0-10, flexible 6+."""

    group_id: str = ""
    topics: list[OffsetFetchRequestTopic] | None = []
    groups: list[OffsetFetchRequestGroup] = []
    require_stable: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "OffsetFetchRequest",
        "request",
        Field("GroupId", "group_id", "string", "0-7"),
        Field("Topics", "topics", OffsetFetchRequestTopic, "0-7", array=True, nullable="2-7"),
        Field("Groups", "groups", OffsetFetchRequestGroup, "8+", array=True),
        Field("RequireStable", "require_stable", "bool", "7+"),
        versions="0-10",
        flexible="6+",
        key=9,
    )
