"""Generated from schemas/messages/metadata/11_UserScramCredentialRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class UserScramCredentialRecord(WireMessage, gc=False):
    """UserScramCredentialRecord: metadata 11, versions 0, flexible 0+."""

    name: str = ""
    mechanism: int = 0
    salt: bytes = b""
    stored_key: bytes = b""
    server_key: bytes = b""
    iterations: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UserScramCredentialRecord",
        "metadata",
        Field("Name", "name", "string", "0+"),
        Field("Mechanism", "mechanism", "int8", "0+"),
        Field("Salt", "salt", "bytes", "0+"),
        Field("StoredKey", "stored_key", "bytes", "0+"),
        Field("ServerKey", "server_key", "bytes", "0+"),
        Field("Iterations", "iterations", "int32", "0+"),
        versions="0",
        flexible="0+",
        key=11,
    )
