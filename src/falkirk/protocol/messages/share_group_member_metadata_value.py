"""Generated from schemas/messages/group_coordinator/10_ShareGroupMemberMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ShareGroupMemberMetadataValue(WireMessage, gc=False):
    """ShareGroupMemberMetadataValue: coordinator-value 10, versions 0, flexible 0+."""

    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareGroupMemberMetadataValue",
        "coordinator-value",
        Field("RackId", "rack_id", "string", "0+", nullable="0+"),
        Field("ClientId", "client_id", "string", "0+"),
        Field("ClientHost", "client_host", "string", "0+"),
        Field("SubscribedTopicNames", "subscribed_topic_names", "string", "0+", array=True),
        versions="0",
        flexible="0+",
        key=10,
    )
