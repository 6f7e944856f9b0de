"""Generated from schemas/messages/api/82_UpdateRaftVoter.schema by tools/generate_messages.py: do not edit."""

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


class KRaftVersionFeature(WireStruct, gc=False):
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("MinSupportedVersion", "min_supported_version", "int16", "0+"),
        Field("MaxSupportedVersion", "max_supported_version", "int16", "0+"),
    )


class UpdateRaftVoterRequest(WireMessage, gc=False):
    """UpdateRaftVoterRequest: request 82, versions 0, flexible 0+."""

    cluster_id: str | None = ""
    current_leader_epoch: int = 0
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID
    listeners: list[Listener] = []
    kraft_version_feature: KRaftVersionFeature = msgspec.field(default_factory=KRaftVersionFeature)
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UpdateRaftVoterRequest",
        "request",
        Field("ClusterId", "cluster_id", "string", "0+", nullable="0+"),
        Field("CurrentLeaderEpoch", "current_leader_epoch", "int32", "0+"),
        Field("VoterId", "voter_id", "int32", "0+"),
        Field("VoterDirectoryId", "voter_directory_id", "uuid", "0+"),
        Field("Listeners", "listeners", Listener, "0+", array=True),
        Field("KRaftVersionFeature", "kraft_version_feature", KRaftVersionFeature, "0+"),
        versions="0",
        flexible="0+",
        key=82,
    )
