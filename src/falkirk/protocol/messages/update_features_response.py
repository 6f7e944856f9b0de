"""Generated from schemas/messages/api/57_UpdateFeatures.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class UpdatableFeatureResult(WireStruct, gc=False):
    feature: str = ""
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Feature", "feature", "string", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
    )


class UpdateFeaturesResponse(WireMessage, gc=False):
    """UpdateFeaturesResponse: response 57, versions 0-2, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[UpdatableFeatureResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UpdateFeaturesResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("Results", "results", UpdatableFeatureResult, "0-1", array=True, ignorable=True),
        versions="0-2",
        flexible="0+",
        key=57,
    )
