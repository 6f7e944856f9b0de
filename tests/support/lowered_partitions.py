"""A metadata log that still holds the record that lowers metadata.version, which every log reader must handle."""

from metadata_partitions import MadePartition

from falkirk.protocol.messages import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

HIGH, LOW = MetadataVersion.parse("4.3-IV0"), MetadataVersion.parse("3.7-IV0")
ELR = "eligible.leader.replicas.version"
ORDERS, LATER = b"orders".ljust(16, b"\1"), b"later".ljust(16, b"\1")
DIRECTORIES = {broker: (bytes([broker]) * 16, bytes([broker, 9]) * 8) for broker in (1, 2, 3)}


def lowered_partition() -> MadePartition:
    """Make a log at 4.3-IV0 with cordoned and assigned directories and ELR in use, then lower it to 3.7-IV0."""
    made = MadePartition(level=HIGH.level)
    made.add()
    # Features that depend on the level do not say that they go with it.
    made.add((FeatureLevelRecord(METADATA_VERSION, HIGH.level), 0), (FeatureLevelRecord(ELR, 1), 0))
    made.add(*((_broker(broker), HIGH.register_broker_record_version) for broker in DIRECTORIES))
    partitions = [
        # In-sync replicas stay; eligible ones take the place of none; else the last known leader does.
        _partition(0, isr=(1,), leader=1, elr=(2,)),
        _partition(1, isr=(), leader=-1, elr=(2, 3)),
        _partition(2, isr=(), leader=-1, last_known=(3,)),
        _partition(3, isr=(1, 2, 3), leader=2),
        _partition(4, isr=(1, 2, 3), leader=3),
    ]
    made.add((TopicRecord("orders", ORDERS), 0), *((record, HIGH.partition_record_version) for record in partitions))
    made.add(
        (_changed(3, isr=(2, 3), eligible_leader_replicas=(1,)), HIGH.partition_change_record_version),
        (
            BrokerRegistrationChangeRecord(3, 3, cordoned_log_dirs=(DIRECTORIES[3][1],)),
            HIGH.broker_registration_change_record_version_max,
        ),
    )
    tagged = ConfigRecord(2, "orders", "retention.ms", "1")
    tagged.unknown_tagged_fields = ((77, b"of times to come"),)
    made.add((tagged, 0))
    made.segments.append(made.end_offset)
    made.add((ConfigRecord(2, "orders", "cleanup.policy", "delete"), 0), (_lowering(), 0))
    # Later records rest on what is there now: an ISR that was empty, directories that nobody knows.
    made.add(
        (_changed(1, isr=(2,), leader=2), LOW.partition_change_record_version),
        (_changed(3, replicas=(2, 3), isr=(2, 3)), LOW.partition_change_record_version),
        (TopicRecord("later", LATER), 0),
        (PartitionRecord(0, LATER, replicas=(1, 2), isr=(1, 2), leader=1), LOW.partition_record_version),
    )
    return made


def with_snapshot(made: MadePartition) -> MadePartition:
    """Return what a node keeps on disk afterwards: a snapshot at the end, and nothing from before."""
    return MadePartition(
        batches=made.batches,
        snapshots=[made.end_offset],
        segments=[made.end_offset],
        log_start=made.end_offset,
        level=LOW.level,
    )


def _lowering() -> FeatureLevelRecord:
    return FeatureLevelRecord(METADATA_VERSION, LOW.level)


def _broker(broker: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker,
        incarnation_id=bytes([broker]) * 16,
        broker_epoch=broker,
        end_points=[BrokerEndpoint("P", f"b{broker}", 9092, 0)],
        fenced=False,
        log_dirs=DIRECTORIES[broker],
        cordoned_log_dirs=DIRECTORIES[broker][:1] if broker == 1 else (),
    )


def _partition(number, *, isr, leader, elr=None, last_known=None) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=ORDERS,
        replicas=(1, 2, 3),
        isr=isr,
        leader=leader,
        leader_epoch=4,
        partition_epoch=7,
        directories=tuple(DIRECTORIES[broker][0] for broker in (1, 2, 3)),
        eligible_leader_replicas=elr,
        last_known_elr=last_known,
    )


def _changed(number, **fields) -> PartitionChangeRecord:
    return PartitionChangeRecord(number, ORDERS, **fields)
