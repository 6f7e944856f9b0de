"""Generated from schemas/messages/data/SnapshotHeaderRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class SnapshotHeaderRecord(WireMessage, gc=False):
    """SnapshotHeaderRecord: data, versions 0, flexible 0+."""

    version: int = 0
    last_contained_log_timestamp: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "SnapshotHeaderRecord",
        "data",
        Field("Version", "version", "int16", "0+"),
        Field("LastContainedLogTimestamp", "last_contained_log_timestamp", "int64", "0+"),
        versions="0",
        flexible="0+",
    )
