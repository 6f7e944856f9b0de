"""Generated from schemas/messages/remote_log/ProducerSnapshot.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, WireMessage, WireStruct


class ProducerEntry(WireStruct, gc=False):
    producer_id: int = 0
    epoch: int = 0
    last_sequence: int = 0
    last_offset: int = 0
    offset_delta: int = 0
    timestamp: int = 0
    coordinator_epoch: int = 0
    current_txn_first_offset: int = 0

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ProducerId", "producer_id", "int64", "1+"),
        Field("Epoch", "epoch", "int16", "1+"),
        Field("LastSequence", "last_sequence", "int32", "1+"),
        Field("LastOffset", "last_offset", "int64", "1+"),
        Field("OffsetDelta", "offset_delta", "int32", "1+"),
        Field("Timestamp", "timestamp", "int64", "1+"),
        Field("CoordinatorEpoch", "coordinator_epoch", "int32", "1+"),
        Field("CurrentTxnFirstOffset", "current_txn_first_offset", "int64", "1+"),
    )


class ProducerSnapshot(WireMessage, gc=False):
    """ProducerSnapshot: data, versions 1, flexible none."""

    crc: int = 0
    producer_entries: list[ProducerEntry] = []

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ProducerSnapshot",
        "data",
        Field("Crc", "crc", "uint32", "1+"),
        Field("ProducerEntries", "producer_entries", ProducerEntry, "1+", array=True),
        versions="1",
        flexible="none",
    )
