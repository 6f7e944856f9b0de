"""Generated from schemas/messages/data/LeaderChangeMessage.schema by tools/generate_messages.py: do not edit."""

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


class Voter(WireStruct, gc=False):
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("VoterId", "voter_id", "int32", "0+"),
        Field("VoterDirectoryId", "voter_directory_id", "uuid", "1+"),
    )


class LeaderChangeMessage(WireMessage, gc=False):
    """LeaderChangeMessage: data, versions 0-1, flexible 0+."""

    version: int = 0
    leader_id: int = 0
    voters: list[Voter] = []
    granting_voters: list[Voter] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "LeaderChangeMessage",
        "data",
        Field("Version", "version", "int16", "0+"),
        Field("LeaderId", "leader_id", "int32", "0+"),
        Field("Voters", "voters", Voter, "0+", array=True),
        Field("GrantingVoters", "granting_voters", Voter, "0+", array=True),
        versions="0-1",
        flexible="0+",
    )
