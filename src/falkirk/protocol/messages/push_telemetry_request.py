"""Generated from schemas/messages/api/72_PushTelemetry.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class PushTelemetryRequest(WireMessage, gc=False):
    """PushTelemetryRequest: request 72, versions 0, flexible 0+."""

    client_instance_id: bytes = ZERO_UUID
    subscription_id: int = 0
    terminating: bool = False
    compression_type: int = 0
    metrics: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "PushTelemetryRequest",
        "request",
        Field("ClientInstanceId", "client_instance_id", "uuid", "0+"),
        Field("SubscriptionId", "subscription_id", "int32", "0+"),
        Field("Terminating", "terminating", "bool", "0+"),
        Field("CompressionType", "compression_type", "int8", "0+"),
        Field("Metrics", "metrics", "bytes", "0+"),
        versions="0",
        flexible="0+",
        key=72,
    )
