"""Generated from schemas/messages/data/QuorumStateData.schema by tools/generate_messages.py: do not edit."""

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
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("VoterId", "voter_id", "int32", "0"),
    )


class QuorumStateData(WireMessage, gc=False):
    """QuorumStateData: data, versions 0-1, flexible 0+."""

    cluster_id: str = ""
    leader_id: int = -1
    leader_epoch: int = -1
    voted_id: int = -1
    applied_offset: int = 0
    current_voters: list[Voter] | None = []
    voted_directory_id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "QuorumStateData",
        "data",
        Field("ClusterId", "cluster_id", "string", "0"),
        Field("LeaderId", "leader_id", "int32", "0+", default=-1),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+", default=-1),
        Field("VotedId", "voted_id", "int32", "0+", default=-1),
        Field("AppliedOffset", "applied_offset", "int64", "0"),
        Field("CurrentVoters", "current_voters", Voter, "0", array=True, nullable="0"),
        Field("VotedDirectoryId", "voted_directory_id", "uuid", "1+"),
        versions="0-1",
        flexible="0+",
    )
