"""Generated from schemas/messages/api/10_FindCoordinator.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class FindCoordinatorRequest(WireMessage, gc=False):
    """FindCoordinatorRequest: request 10, versions 0-6, flexible 3+."""

    key: str = ""
    key_type: int = 0
    coordinator_keys: tuple[str, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "FindCoordinatorRequest",
        "request",
        Field("Key", "key", "string", "0-3"),
        Field("KeyType", "key_type", "int8", "1+"),
        Field("CoordinatorKeys", "coordinator_keys", "string", "4+", array=True),
        versions="0-6",
        flexible="3+",
        key=10,
    )
