"""Generated from schemas/messages/api/94_UnregisterController.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class UnregisterControllerRequest(WireMessage, gc=False):
    """UnregisterControllerRequest: request 94, versions 0, flexible 0+."""

    controller_id: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UnregisterControllerRequest",
        "request",
        Field("ControllerId", "controller_id", "int32", "0+"),
        versions="0",
        flexible="0+",
        key=94,
    )
