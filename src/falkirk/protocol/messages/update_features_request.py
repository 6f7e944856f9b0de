"""Generated from schemas/messages/api/57_UpdateFeatures.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class FeatureUpdateKey(WireStruct, gc=False):
    feature: str = ""
    max_version_level: int = 0
    allow_downgrade: bool = False
    upgrade_type: int = 1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Feature", "feature", "string", "0+"),
        Field("MaxVersionLevel", "max_version_level", "int16", "0+"),
        Field("AllowDowngrade", "allow_downgrade", "bool", "0"),
        Field("UpgradeType", "upgrade_type", "int8", "1+", default=1),
    )


class UpdateFeaturesRequest(WireMessage, gc=False):
    """UpdateFeaturesRequest: request 57, versions 0-2, flexible 0+."""

    timeout_ms: int = 60000
    feature_updates: list[FeatureUpdateKey] = []
    validate_only: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UpdateFeaturesRequest",
        "request",
        Field("timeoutMs", "timeout_ms", "int32", "0+", default=60000),
        Field("FeatureUpdates", "feature_updates", FeatureUpdateKey, "0+", array=True),
        Field("ValidateOnly", "validate_only", "bool", "1+"),
        versions="0-2",
        flexible="0+",
        key=57,
    )
