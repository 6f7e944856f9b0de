"""Generated from schemas/messages/api/71_GetTelemetrySubscriptions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class GetTelemetrySubscriptionsRequest(WireMessage, gc=False):
    """GetTelemetrySubscriptionsRequest: request 71, versions 0, flexible 0+."""

    client_instance_id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "GetTelemetrySubscriptionsRequest",
        "request",
        Field("ClientInstanceId", "client_instance_id", "uuid", "0+"),
        versions="0",
        flexible="0+",
        key=71,
    )
