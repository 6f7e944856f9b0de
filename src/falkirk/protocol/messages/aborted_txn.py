"""Generated from schemas/messages/data/AbortedTxn.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class AbortedTxn(WireMessage, gc=False):
    """AbortedTxn: data, versions 0, flexible none."""

    producer_id: int = 0
    first_offset: int = 0
    last_offset: int = 0
    last_stable_offset: int = 0

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AbortedTxn",
        "data",
        Field("ProducerId", "producer_id", "int64", "0+"),
        Field("FirstOffset", "first_offset", "int64", "0+"),
        Field("LastOffset", "last_offset", "int64", "0+"),
        Field("LastStableOffset", "last_stable_offset", "int64", "0+"),
        versions="0",
        flexible="none",
    )
