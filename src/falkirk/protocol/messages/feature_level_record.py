"""Generated from schemas/messages/metadata/12_FeatureLevelRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class FeatureLevelRecord(WireMessage, gc=False):
    """FeatureLevelRecord: metadata 12, versions 0, flexible 0+."""

    name: str = ""
    feature_level: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "FeatureLevelRecord",
        "metadata",
        Field("Name", "name", "string", "0+"),
        Field("FeatureLevel", "feature_level", "int16", "0+"),
        versions="0",
        flexible="0+",
        key=12,
    )
