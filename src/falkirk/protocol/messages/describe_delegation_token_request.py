"""Generated from schemas/messages/api/41_DescribeDelegationToken.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DescribeDelegationTokenOwner(WireStruct, gc=False):
    principal_type: str = ""
    principal_name: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PrincipalType", "principal_type", "string", "0+"),
        Field("PrincipalName", "principal_name", "string", "0+"),
    )


class DescribeDelegationTokenRequest(WireMessage, gc=False):
    """DescribeDelegationTokenRequest: request 41, versions 0-3, flexible 2+."""

    owners: list[DescribeDelegationTokenOwner] | None = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeDelegationTokenRequest",
        "request",
        Field("Owners", "owners", DescribeDelegationTokenOwner, "0+", array=True, nullable="0+"),
        versions="0-3",
        flexible="2+",
        key=41,
    )
