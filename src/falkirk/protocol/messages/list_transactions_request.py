"""Generated from schemas/messages/api/66_ListTransactions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ListTransactionsRequest(WireMessage, gc=False):
    """ListTransactionsRequest: request 66, versions 0-2, flexible 0+."""

    state_filters: tuple[str, ...] = ()
    producer_id_filters: tuple[int, ...] = ()
    duration_filter: int = -1
    transactional_id_pattern: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListTransactionsRequest",
        "request",
        Field("StateFilters", "state_filters", "string", "0+", array=True),
        Field("ProducerIdFilters", "producer_id_filters", "int64", "0+", array=True),
        Field("DurationFilter", "duration_filter", "int64", "1+", default=-1),
        Field("TransactionalIdPattern", "transactional_id_pattern", "string", "2+", nullable="2+", default=None),
        versions="0-2",
        flexible="0+",
        key=66,
    )
