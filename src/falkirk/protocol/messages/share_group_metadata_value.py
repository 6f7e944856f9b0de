"""Generated from schemas/messages/group_coordinator/11_ShareGroupMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ShareGroupMetadataValue(WireMessage, gc=False):
    """ShareGroupMetadataValue: coordinator-value 11, versions 0, flexible 0+."""

    epoch: int = 0
    metadata_hash: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupMetadataValue",
        "coordinator-value",
        Field("Epoch", "epoch", "int32", "0+"),
        Field("MetadataHash", "metadata_hash", "int64", "0+", layouts=(1,)),
        versions="0",
        flexible="0+",
        key=11,
        layouts=2,
    )
