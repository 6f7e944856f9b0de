"""Generated from schemas/messages/metadata/21_ZkMigrationStateRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ZkMigrationStateRecord(WireMessage, gc=False):
    """ZkMigrationStateRecord: metadata 21, versions 0, flexible 0+."""

    zk_migration_state: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ZkMigrationStateRecord",
        "metadata",
        Field("ZkMigrationState", "zk_migration_state", "int8", "0+"),
        versions="0",
        flexible="0+",
        key=21,
    )
