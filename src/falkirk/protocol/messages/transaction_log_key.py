"""Generated from schemas/messages/transaction_coordinator/00_TransactionLog.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class TransactionLogKey(WireMessage, gc=False):
    """TransactionLogKey: coordinator-key 0, versions 0, flexible none."""

    transactional_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "TransactionLogKey",
        "coordinator-key",
        Field("TransactionalId", "transactional_id", "string", "0+"),
        versions="0",
        flexible="none",
        key=0,
    )
