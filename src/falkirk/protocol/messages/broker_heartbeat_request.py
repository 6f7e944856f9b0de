"""Generated from schemas/messages/api/63_BrokerHeartbeat.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class BrokerHeartbeatRequest(WireMessage, gc=False):
    """BrokerHeartbeatRequest: request 63, versions 0-2, flexible 0+."""

    broker_id: int = 0
    broker_epoch: int = -1
    current_metadata_offset: int = 0
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "BrokerHeartbeatRequest",
        "request",
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "0+", default=-1),
        Field("CurrentMetadataOffset", "current_metadata_offset", "int64", "0+"),
        Field("WantFence", "want_fence", "bool", "0+"),
        Field("WantShutDown", "want_shut_down", "bool", "0+"),
        Field("OfflineLogDirs", "offline_log_dirs", "uuid", "1+", array=True, tag=0),
        Field("CordonedLogDirs", "cordoned_log_dirs", "uuid", "2+", array=True, nullable="2+", tag=1, default=None),
        versions="0-2",
        flexible="0+",
        key=63,
    )
