"""Generated from schemas/messages/metadata/29_UnregisterControllerRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class UnregisterControllerRecord(WireMessage, gc=False):
    """UnregisterControllerRecord: metadata 29, versions 0, flexible 0+."""

    controller_id: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UnregisterControllerRecord",
        "metadata",
        Field("ControllerId", "controller_id", "int32", "0+"),
        versions="0",
        flexible="0+",
        key=29,
    )
