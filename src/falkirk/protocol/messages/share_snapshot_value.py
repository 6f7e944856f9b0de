"""Generated from schemas/messages/share_coordinator/00_ShareSnapshot.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class StateBatch(WireStruct, gc=False):
    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("FirstOffset", "first_offset", "int64", "0+"),
        Field("LastOffset", "last_offset", "int64", "0+"),
        Field("DeliveryState", "delivery_state", "int8", "0+"),
        Field("DeliveryCount", "delivery_count", "int16", "0+"),
    )


class ShareSnapshotValue(WireMessage, gc=False):
    """ShareSnapshotValue: coordinator-value 0, versions 0, flexible 0+."""

    snapshot_epoch: int = 0
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    create_timestamp: int = 0
    write_timestamp: int = 0
    state_batches: list[StateBatch] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareSnapshotValue",
        "coordinator-value",
        Field("SnapshotEpoch", "snapshot_epoch", "uint16", "0+", layouts=(0,)),
        Field("SnapshotEpoch", "snapshot_epoch", "int32", "0+", layouts=(1, 2)),
        Field("StateEpoch", "state_epoch", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
        Field("StartOffset", "start_offset", "int64", "0+"),
        Field("DeliveryCompleteCount", "delivery_complete_count", "int32", "0+", tag=0, default=-1, layouts=(2,)),
        Field("CreateTimestamp", "create_timestamp", "int64", "0+", layouts=(1, 2)),
        Field("WriteTimestamp", "write_timestamp", "int64", "0+", layouts=(1, 2)),
        Field("StateBatches", "state_batches", StateBatch, "0+", array=True),
        versions="0",
        flexible="0+",
        key=0,
        layouts=3,
    )
