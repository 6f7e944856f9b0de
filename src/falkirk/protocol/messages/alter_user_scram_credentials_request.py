"""Generated from schemas/messages/api/51_AlterUserScramCredentials.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ScramCredentialDeletion(WireStruct, gc=False):
    name: str = ""
    mechanism: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Mechanism", "mechanism", "int8", "0+"),
    )


class ScramCredentialUpsertion(WireStruct, gc=False):
    name: str = ""
    mechanism: int = 0
    iterations: int = 0
    salt: bytes = b""
    salted_password: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Mechanism", "mechanism", "int8", "0+"),
        Field("Iterations", "iterations", "int32", "0+"),
        Field("Salt", "salt", "bytes", "0+"),
        Field("SaltedPassword", "salted_password", "bytes", "0+"),
    )


class AlterUserScramCredentialsRequest(WireMessage, gc=False):
    """AlterUserScramCredentialsRequest: request 51, versions 0, flexible 0+."""

    deletions: list[ScramCredentialDeletion] = []
    upsertions: list[ScramCredentialUpsertion] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterUserScramCredentialsRequest",
        "request",
        Field("Deletions", "deletions", ScramCredentialDeletion, "0+", array=True),
        Field("Upsertions", "upsertions", ScramCredentialUpsertion, "0+", array=True),
        versions="0",
        flexible="0+",
        key=51,
    )
