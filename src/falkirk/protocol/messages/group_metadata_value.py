"""Generated from schemas/messages/group_coordinator/02_GroupMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class MemberMetadata(WireStruct, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: int = -1
    session_timeout: int = 0
    subscription: bytes = b""
    assignment: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("memberId", "member_id", "string", "0+"),
        Field("groupInstanceId", "group_instance_id", "string", "3+", nullable="3+", default=None, ignorable=True),
        Field("clientId", "client_id", "string", "0+"),
        Field("clientHost", "client_host", "string", "0+"),
        Field("rebalanceTimeout", "rebalance_timeout", "int32", "1+", default=-1, ignorable=True),
        Field("sessionTimeout", "session_timeout", "int32", "0+"),
        Field("subscription", "subscription", "bytes", "0+"),
        Field("assignment", "assignment", "bytes", "0+"),
    )


class GroupMetadataValue(WireMessage, gc=False):
    """GroupMetadataValue: coordinator-value 2, versions 0-4, flexible 4+."""

    protocol_type: str = ""
    generation: int = 0
    protocol: str | None = ""
    leader: str | None = ""
    current_state_timestamp: int = -1
    members: list[MemberMetadata] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "GroupMetadataValue",
        "coordinator-value",
        Field("protocolType", "protocol_type", "string", "0+"),
        Field("generation", "generation", "int32", "0+"),
        Field("protocol", "protocol", "string", "0+", nullable="0+"),
        Field("leader", "leader", "string", "0+", nullable="0+"),
        Field("currentStateTimestamp", "current_state_timestamp", "int64", "2+", default=-1, ignorable=True),
        Field("members", "members", MemberMetadata, "0+", array=True),
        versions="0-4",
        flexible="4+",
        key=2,
    )
