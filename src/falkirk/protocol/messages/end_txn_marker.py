"""Generated from schemas/messages/data/EndTxnMarker.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class EndTxnMarker(WireMessage, gc=False):
    """EndTxnMarker: data, versions 0, flexible none."""

    coordinator_epoch: int = 0

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "EndTxnMarker",
        "data",
        Field("CoordinatorEpoch", "coordinator_epoch", "int32", "0+"),
        versions="0",
        flexible="none",
    )
