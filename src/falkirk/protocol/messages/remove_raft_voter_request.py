"""Generated from schemas/messages/api/81_RemoveRaftVoter.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class RemoveRaftVoterRequest(WireMessage, gc=False):
    """RemoveRaftVoterRequest: request 81, versions 0, flexible 0+."""

    cluster_id: str | None = ""
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RemoveRaftVoterRequest",
        "request",
        Field("ClusterId", "cluster_id", "string", "0+", nullable="0+"),
        Field("VoterId", "voter_id", "int32", "0+"),
        Field("VoterDirectoryId", "voter_directory_id", "uuid", "0+"),
        versions="0",
        flexible="0+",
        key=81,
    )
