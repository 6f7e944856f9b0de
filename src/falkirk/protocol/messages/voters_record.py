"""Generated from schemas/messages/data/VotersRecord.schema by tools/generate_messages.py: do not edit."""

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


class Endpoint(WireStruct, gc=False):
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


class Voter(WireStruct, gc=False):
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID
    endpoints: list[Endpoint] = []
    kraft_version_feature: KRaftVersionFeature = msgspec.field(default_factory=KRaftVersionFeature)
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("VoterId", "voter_id", "int32", "0+"),
        Field("VoterDirectoryId", "voter_directory_id", "uuid", "0+"),
        Field("Endpoints", "endpoints", Endpoint, "0+", array=True),
        Field("KRaftVersionFeature", "kraft_version_feature", KRaftVersionFeature, "0+"),
    )


class VotersRecord(WireMessage, gc=False):
    """VotersRecord: data, versions 0, flexible 0+."""

    version: int = 0
    voters: list[Voter] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "VotersRecord",
        "data",
        Field("Version", "version", "int16", "0+"),
        Field("Voters", "voters", Voter, "0+", array=True),
        versions="0",
        flexible="0+",
    )
