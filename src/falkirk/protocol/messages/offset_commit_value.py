"""Generated from schemas/messages/group_coordinator/01_OffsetCommit.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class OffsetCommitValue(WireMessage, gc=False):
    """OffsetCommitValue: coordinator-value 1, versions 0-4, flexible 4+."""

    offset: int = 0
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int = -1
    topic_id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "OffsetCommitValue",
        "coordinator-value",
        Field("offset", "offset", "int64", "0+"),
        Field("leaderEpoch", "leader_epoch", "int32", "3+", default=-1, ignorable=True),
        Field("metadata", "metadata", "string", "0+"),
        Field("commitTimestamp", "commit_timestamp", "int64", "0+"),
        Field("expireTimestamp", "expire_timestamp", "int64", "1", default=-1, ignorable=True),
        Field("topicId", "topic_id", "uuid", "4+", tag=0, ignorable=True, layouts=(1,)),
        versions="0-4",
        flexible="4+",
        key=1,
        layouts=2,
    )
