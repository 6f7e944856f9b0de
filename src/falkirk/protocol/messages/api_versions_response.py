"""Generated from schemas/messages/api/18_ApiVersions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ApiVersion(WireStruct, gc=False):
    api_key: int = 0
    min_version: int = 0
    max_version: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ApiKey", "api_key", "int16", "0+"),
        Field("MinVersion", "min_version", "int16", "0+"),
        Field("MaxVersion", "max_version", "int16", "0+"),
    )


class SupportedFeatureKey(WireStruct, gc=False):
    name: str = ""
    min_version: int = 0
    max_version: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "3+"),
        Field("MinVersion", "min_version", "int16", "3+"),
        Field("MaxVersion", "max_version", "int16", "3+"),
    )


class FinalizedFeatureKey(WireStruct, gc=False):
    name: str = ""
    max_version_level: int = 0
    min_version_level: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "3+"),
        Field("MaxVersionLevel", "max_version_level", "int16", "3+"),
        Field("MinVersionLevel", "min_version_level", "int16", "3+"),
    )


class ApiVersionsResponse(WireMessage, gc=False):
    """ApiVersionsResponse: response 18, versions 0-5, flexible 3+."""

    error_code: int = 0
    api_keys: list[ApiVersion] = []
    throttle_time_ms: int = 0
    supported_features: list[SupportedFeatureKey] = []
    finalized_features_epoch: int = -1
    finalized_features: list[FinalizedFeatureKey] = []
    zk_migration_ready: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ApiVersionsResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ApiKeys", "api_keys", ApiVersion, "0+", array=True),
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "1+", ignorable=True),
        Field("SupportedFeatures", "supported_features", SupportedFeatureKey, "3+", array=True, tag=0, ignorable=True),
        Field("FinalizedFeaturesEpoch", "finalized_features_epoch", "int64", "3+", tag=1, default=-1, ignorable=True),
        Field("FinalizedFeatures", "finalized_features", FinalizedFeatureKey, "3+", array=True, tag=2, ignorable=True),
        Field("ZkMigrationReady", "zk_migration_ready", "bool", "3+", tag=3, ignorable=True),
        versions="0-5",
        flexible="3+",
        key=18,
    )
