"""Generated from schemas/messages/group_coordinator/03_ConsumerGroupMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ConsumerGroupMetadataValue(WireMessage, gc=False):
    """ConsumerGroupMetadataValue: coordinator-value 3, versions 0, flexible 0+."""

    epoch: int = 0
    metadata_hash: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupMetadataValue",
        "coordinator-value",
        Field("Epoch", "epoch", "int32", "0+"),
        Field("MetadataHash", "metadata_hash", "int64", "0+", tag=0, layouts=(1,)),
        versions="0",
        flexible="0+",
        key=3,
        layouts=2,
    )
