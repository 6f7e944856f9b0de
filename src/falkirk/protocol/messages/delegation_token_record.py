"""Generated from schemas/messages/metadata/10_DelegationTokenRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class DelegationTokenRecord(WireMessage, gc=False):
    """DelegationTokenRecord: metadata 10, versions 0, flexible 0+."""

    owner: str = ""
    requester: str = ""
    renewers: tuple[str, ...] = ()
    issue_timestamp: int = 0
    max_timestamp: int = 0
    expiration_timestamp: int = 0
    token_id: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DelegationTokenRecord",
        "metadata",
        Field("Owner", "owner", "string", "0+"),
        Field("Requester", "requester", "string", "0+"),
        Field("Renewers", "renewers", "string", "0+", array=True),
        Field("IssueTimestamp", "issue_timestamp", "int64", "0+"),
        Field("MaxTimestamp", "max_timestamp", "int64", "0+"),
        Field("ExpirationTimestamp", "expiration_timestamp", "int64", "0+"),
        Field("TokenId", "token_id", "string", "0+"),
        versions="0",
        flexible="0+",
        key=10,
    )
