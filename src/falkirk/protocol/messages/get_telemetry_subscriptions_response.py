"""Generated from schemas/messages/api/71_GetTelemetrySubscriptions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class GetTelemetrySubscriptionsResponse(WireMessage, gc=False):
    """GetTelemetrySubscriptionsResponse: response 71, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    client_instance_id: bytes = ZERO_UUID
    subscription_id: int = 0
    accepted_compression_types: tuple[int, ...] = ()
    push_interval_ms: int = 0
    telemetry_max_bytes: int = 0
    delta_temporality: bool = False
    requested_metrics: tuple[str, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "GetTelemetrySubscriptionsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ClientInstanceId", "client_instance_id", "uuid", "0+"),
        Field("SubscriptionId", "subscription_id", "int32", "0+"),
        Field("AcceptedCompressionTypes", "accepted_compression_types", "int8", "0+", array=True),
        Field("PushIntervalMs", "push_interval_ms", "int32", "0+"),
        Field("TelemetryMaxBytes", "telemetry_max_bytes", "int32", "0+"),
        Field("DeltaTemporality", "delta_temporality", "bool", "0+"),
        Field("RequestedMetrics", "requested_metrics", "string", "0+", array=True),
        versions="0",
        flexible="0+",
        key=71,
    )
