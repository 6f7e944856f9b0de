"""Generated from schemas/messages/api/66_ListTransactions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class TransactionState(WireStruct, gc=False):
    transactional_id: str = ""
    producer_id: int = 0
    transaction_state: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TransactionalId", "transactional_id", "string", "0+"),
        Field("ProducerId", "producer_id", "int64", "0+"),
        Field("TransactionState", "transaction_state", "string", "0+"),
    )


class ListTransactionsResponse(WireMessage, gc=False):
    """ListTransactionsResponse: response 66, versions 0-2, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: tuple[str, ...] = ()
    transaction_states: list[TransactionState] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListTransactionsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("UnknownStateFilters", "unknown_state_filters", "string", "0+", array=True),
        Field("TransactionStates", "transaction_states", TransactionState, "0+", array=True),
        versions="0-2",
        flexible="0+",
        key=66,
    )
