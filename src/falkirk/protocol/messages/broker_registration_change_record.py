"""Generated from schemas/messages/metadata/17_BrokerRegistrationChangeRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class BrokerRegistrationChangeRecord(WireMessage, gc=False):
    """BrokerRegistrationChangeRecord: metadata 17, versions 0-3, flexible 0+."""

    broker_id: int = 0
    broker_epoch: int = 0
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "BrokerRegistrationChangeRecord",
        "metadata",
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "0+"),
        Field("Fenced", "fenced", "int8", "0+", tag=0),
        Field("InControlledShutdown", "in_controlled_shutdown", "int8", "1+", tag=1),
        Field("LogDirs", "log_dirs", "uuid", "2+", array=True, tag=2),
        Field("CordonedLogDirs", "cordoned_log_dirs", "uuid", "3+", array=True, nullable="3+", tag=3, default=None),
        versions="0-3",
        flexible="0+",
        key=17,
    )
