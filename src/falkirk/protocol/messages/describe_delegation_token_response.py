"""Generated from schemas/messages/api/41_DescribeDelegationToken.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DescribedDelegationTokenRenewer(WireStruct, gc=False):
    principal_type: str = ""
    principal_name: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PrincipalType", "principal_type", "string", "0+"),
        Field("PrincipalName", "principal_name", "string", "0+"),
    )


class DescribedDelegationToken(WireStruct, gc=False):
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = ""
    token_requester_principal_name: str = ""
    issue_timestamp: int = 0
    expiry_timestamp: int = 0
    max_timestamp: int = 0
    token_id: str = ""
    hmac: bytes = b""
    renewers: list[DescribedDelegationTokenRenewer] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PrincipalType", "principal_type", "string", "0+"),
        Field("PrincipalName", "principal_name", "string", "0+"),
        Field("TokenRequesterPrincipalType", "token_requester_principal_type", "string", "3+"),
        Field("TokenRequesterPrincipalName", "token_requester_principal_name", "string", "3+"),
        Field("IssueTimestamp", "issue_timestamp", "int64", "0+"),
        Field("ExpiryTimestamp", "expiry_timestamp", "int64", "0+"),
        Field("MaxTimestamp", "max_timestamp", "int64", "0+"),
        Field("TokenId", "token_id", "string", "0+"),
        Field("Hmac", "hmac", "bytes", "0+"),
        Field("Renewers", "renewers", DescribedDelegationTokenRenewer, "0+", array=True),
    )


class DescribeDelegationTokenResponse(WireMessage, gc=False):
    """DescribeDelegationTokenResponse: response 41, versions 0-3, flexible 2+."""

    error_code: int = 0
    tokens: list[DescribedDelegationToken] = []
    throttle_time_ms: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeDelegationTokenResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("Tokens", "tokens", DescribedDelegationToken, "0+", array=True),
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        versions="0-3",
        flexible="2+",
        key=41,
    )
