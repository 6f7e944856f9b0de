"""Generated from schemas/messages/api/11_JoinGroup.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class JoinGroupRequestProtocol(WireStruct, gc=False):
    name: str = ""
    metadata: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Metadata", "metadata", "bytes", "0+"),
    )


class JoinGroupRequest(WireMessage, gc=False):
    """JoinGroupRequest: request 11, versions 0-9, flexible 6+."""

    group_id: str = ""
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str = ""
    protocols: list[JoinGroupRequestProtocol] = []
    reason: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "JoinGroupRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("SessionTimeoutMs", "session_timeout_ms", "int32", "0+"),
        Field("RebalanceTimeoutMs", "rebalance_timeout_ms", "int32", "1+", default=-1, ignorable=True),
        Field("MemberId", "member_id", "string", "0+"),
        Field("GroupInstanceId", "group_instance_id", "string", "5+", nullable="5+", default=None),
        Field("ProtocolType", "protocol_type", "string", "0+"),
        Field("Protocols", "protocols", JoinGroupRequestProtocol, "0+", array=True),
        Field("Reason", "reason", "string", "8+", nullable="8+", default=None, ignorable=True),
        versions="0-9",
        flexible="6+",
        key=11,
    )
