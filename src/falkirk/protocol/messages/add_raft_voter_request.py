"""Generated from schemas/messages/api/80_AddRaftVoter.schema by tools/generate_messages.py: do not edit."""

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


class Listener(WireStruct, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Host", "host", "string", "0+"),
        Field("Port", "port", "uint16", "0+"),
    )


class AddRaftVoterRequest(WireMessage, gc=False):
    """AddRaftVoterRequest: request 80, versions 0-1, flexible 0+."""

    cluster_id: str | None = ""
    timeout_ms: int = 0
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID
    listeners: list[Listener] = []
    ack_when_committed: bool = True
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AddRaftVoterRequest",
        "request",
        Field("ClusterId", "cluster_id", "string", "0+", nullable="0+"),
        Field("TimeoutMs", "timeout_ms", "int32", "0+"),
        Field("VoterId", "voter_id", "int32", "0+"),
        Field("VoterDirectoryId", "voter_directory_id", "uuid", "0+"),
        Field("Listeners", "listeners", Listener, "0+", array=True),
        Field("AckWhenCommitted", "ack_when_committed", "bool", "1+", default=True),
        versions="0-1",
        flexible="0+",
        key=80,
    )
