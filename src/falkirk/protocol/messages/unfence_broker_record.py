"""Generated from schemas/messages/metadata/08_UnfenceBrokerRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class UnfenceBrokerRecord(WireMessage, gc=False):
    """UnfenceBrokerRecord: metadata 8, versions 0, flexible 0+."""

    id: int = 0
    epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UnfenceBrokerRecord",
        "metadata",
        Field("Id", "id", "int32", "0+"),
        Field("Epoch", "epoch", "int64", "0+"),
        versions="0",
        flexible="0+",
        key=8,
    )
