"""Generated from schemas/messages/api/65_DescribeTransactions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class DescribeTransactionsRequest(WireMessage, gc=False):
    """DescribeTransactionsRequest: request 65, versions 0, flexible 0+."""

    transactional_ids: tuple[str, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeTransactionsRequest",
        "request",
        Field("TransactionalIds", "transactional_ids", "string", "0+", array=True),
        versions="0",
        flexible="0+",
        key=65,
    )
