"""Generated from schemas/messages/api/50_DescribeUserScramCredentials.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class UserName(WireStruct, gc=False):
    name: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
    )


class DescribeUserScramCredentialsRequest(WireMessage, gc=False):
    """DescribeUserScramCredentialsRequest: request 50, versions 0, flexible 0+."""

    users: list[UserName] | None = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeUserScramCredentialsRequest",
        "request",
        Field("Users", "users", UserName, "0+", array=True, nullable="0+"),
        versions="0",
        flexible="0+",
        key=50,
    )
