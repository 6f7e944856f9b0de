"""Generated from schemas/messages/api/38_CreateDelegationToken.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class CreateDelegationTokenResponse(WireMessage, gc=False):
    """CreateDelegationTokenResponse: response 38, versions 0-3, flexible 2+."""

    error_code: int = 0
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = ""
    token_requester_principal_name: str = ""
    issue_timestamp_ms: int = 0
    expiry_timestamp_ms: int = 0
    max_timestamp_ms: int = 0
    token_id: str = ""
    hmac: bytes = b""
    throttle_time_ms: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "CreateDelegationTokenResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("PrincipalType", "principal_type", "string", "0+"),
        Field("PrincipalName", "principal_name", "string", "0+"),
        Field("TokenRequesterPrincipalType", "token_requester_principal_type", "string", "3+"),
        Field("TokenRequesterPrincipalName", "token_requester_principal_name", "string", "3+"),
        Field("IssueTimestampMs", "issue_timestamp_ms", "int64", "0+"),
        Field("ExpiryTimestampMs", "expiry_timestamp_ms", "int64", "0+"),
        Field("MaxTimestampMs", "max_timestamp_ms", "int64", "0+"),
        Field("TokenId", "token_id", "string", "0+"),
        Field("Hmac", "hmac", "bytes", "0+"),
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        versions="0-3",
        flexible="2+",
        key=38,
    )
