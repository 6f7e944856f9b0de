"""Generated from schemas/messages/api/50_DescribeUserScramCredentials.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class CredentialInfo(WireStruct, gc=False):
    mechanism: int = 0
    iterations: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Mechanism", "mechanism", "int8", "0+"),
        Field("Iterations", "iterations", "int32", "0+"),
    )


class DescribeUserScramCredentialsResult(WireStruct, gc=False):
    user: str = ""
    error_code: int = 0
    error_message: str | None = ""
    credential_infos: list[CredentialInfo] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("User", "user", "string", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("CredentialInfos", "credential_infos", CredentialInfo, "0+", array=True),
    )


class DescribeUserScramCredentialsResponse(WireMessage, gc=False):
    """DescribeUserScramCredentialsResponse: response 50, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[DescribeUserScramCredentialsResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeUserScramCredentialsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("Results", "results", DescribeUserScramCredentialsResult, "0+", array=True),
        versions="0",
        flexible="0+",
        key=50,
    )
