"""Made-up fleets for trials and measurements: data directories of any number of clusters, as Kafka writes them.

Every cluster has one voter and three brokers, was formatted by one release and runs another. Some use features that a
lower level cannot hold, have nodes that are long gone, or groups that an older coordinator cannot read. The same seed
makes the same bytes.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol import codec
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.java_hash_map import java_string_hash
from falkirk.protocol.messages import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    FeatureLevelRecord,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
)
from falkirk.protocol.messages.register_broker_record import BrokerFeature
from falkirk.protocol.messages.register_controller_record import ControllerFeature
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.record import Record
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.meta_properties import FILE_NAME as META_PROPERTIES
from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties
from falkirk.storage.partition_directory import GROUPS_TOPIC, METADATA_DIRECTORY
from falkirk.storage.quorum_state import FILE_NAME as QUORUM_STATE
from falkirk.storage.quorum_state import QuorumState, format_quorum_state
from falkirk.storage.segment import SegmentFile, format_segment_file
from falkirk.storage.snapshot_file import SnapshotId, SnapshotName, format_snapshot_name
from falkirk.storage.snapshot_writer import write_snapshot
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from falkirk.protocol.schema import WireMessage

_RELEASES: Final = ("3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
_BEGIN_MS: Final = 1_735_689_600_000  # 2025-01-01
_DAY_MS: Final = 86_400_000
_VOTER: Final = 1
_BROKERS: Final = (2, 3, 4)
_GHOST: Final = 9
_EPOCH: Final = 3
_Versioned = tuple["WireMessage", int]
_INT16: Final = struct.Struct(">h")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetShape:
    """Size of a made fleet: partitions and groups of each cluster, and partitions of its `__consumer_offsets`."""

    clusters: int
    partitions: int = 100
    groups: int = 5
    coordinator_partitions: int = 50
    partitions_per_topic: int = 20
    seed: int = 1


def make_fleet(out: Path, shape: FleetShape, *, on_cluster: Callable[[], None] = lambda: None) -> None:
    """Write `out`/c00000/n1/d0 and so on; calls `on_cluster` after each cluster. Raises FileExistsError."""
    out.mkdir(parents=True)
    for number in range(shape.clusters):
        _MadeCluster(number, shape).write(out / f"c{number:05}")
        on_cluster()


class _MadeCluster:
    def __init__(self, number: int, shape: FleetShape) -> None:
        self._random = random.Random(f"{shape.seed}-{number}")  # noqa: S311 - made up data
        first = self._random.randrange(len(_RELEASES) - 1)
        self._before = Release.parse(_RELEASES[first])
        self._after = Release.parse(_RELEASES[self._random.randrange(first, len(_RELEASES))])
        self._shape = shape
        self._cluster_id = uuid_text(self._uuid())
        self._log_dir = {broker: self._uuid() for broker in (_VOTER, *_BROKERS, _GHOST)}
        self._topics = [self._uuid() for _ in range(-(-shape.partitions // shape.partitions_per_topic))]
        self._began_ms = _BEGIN_MS + self._random.randrange(200) * _DAY_MS

    def write(self, folder: Path) -> None:
        """Write the directory of the voter, which is also a broker and holds the coordinators' partitions."""
        log_dir = folder / f"n{_VOTER}" / "d0"
        metadata = log_dir / METADATA_DIRECTORY
        metadata.mkdir(parents=True)
        meta = make_meta_properties(
            cluster_id=self._cluster_id,
            node_id=_VOTER,
            directory_id=self._log_dir[_VOTER],
            now_ms=self._began_ms,
        )
        (log_dir / META_PROPERTIES).write_bytes(format_meta_properties(meta))
        state = QuorumState(data_version=0, leader_id=_VOTER, leader_epoch=_EPOCH, current_voters=(_VOTER,))
        (metadata / QUORUM_STATE).write_bytes(format_quorum_state(state))
        values = [encode_metadata_record(*record) for record in self._in_snapshot()]
        end = len(values) + self._random.randrange(10_000)
        snapshot = format_snapshot_name(SnapshotName(id=SnapshotId(end_offset=end, epoch=_EPOCH)))
        with (metadata / snapshot).open("wb") as file:
            file.writelines(
                write_snapshot(
                    values, epoch=_EPOCH, last_contained_log_timestamp=self._began_ms, clock=lambda: self._began_ms
                )
            )
        segment = format_segment_file(SegmentFile(base_offset=end, kind="log"))
        (metadata / segment).write_bytes(b"".join(self._log(end)))
        first = format_segment_file(SegmentFile(base_offset=0, kind="log"))
        for partition, log in enumerate(self._group_logs()):
            groups = log_dir / f"{GROUPS_TOPIC}-{partition}"
            groups.mkdir()
            (groups / first).write_bytes(log)

    def _in_snapshot(self) -> Iterator[_Versioned]:
        at = self._before.latest_metadata_version
        yield FeatureLevelRecord(METADATA_VERSION, at.level), 0
        yield from self._features(self._before, at)
        yield from self._registrations(self._before, at, fenced=False)
        version = at.partition_record_version
        for partition in range(self._shape.partitions):
            topic_id = self._topics[partition // self._shape.partitions_per_topic]
            number = partition % self._shape.partitions_per_topic
            if number == 0:
                name = f"topic-{partition // self._shape.partitions_per_topic:04}"
                yield TopicRecord(name, topic_id), 0
                yield ConfigRecord(2, name, "retention.ms", str(self._random.randrange(1, 30) * _DAY_MS)), 0
            yield self._partition(topic_id, number, at), version
        yield ProducerIdsRecord(_VOTER, 0, self._random.randrange(100) * 1000), 0

    def _partition(self, topic_id: bytes, number: int, at: MetadataVersion) -> PartitionRecord:
        replicas = list(_BROKERS)
        self._random.shuffle(replicas)
        record = PartitionRecord(number, topic_id, tuple(replicas), tuple(replicas), leader=replicas[0])
        if at.directory_assignment_supported:
            record.directories = tuple(self._log_dir[replica] for replica in replicas)
        return record

    def _features(self, release: Release, at: MetadataVersion) -> Iterator[_Versioned]:
        for name, level in sorted(release.default_levels(at).items()):
            if level > 0 and name != "kraft.version":
                yield FeatureLevelRecord(name, level), 0

    def _registrations(self, release: Release, at: MetadataVersion, *, fenced: bool) -> Iterator[_Versioned]:
        supported = release.supported_features().items()
        controller = RegisterControllerRecord(controller_id=_VOTER, incarnation_id=self._uuid())
        controller.features = [ControllerFeature(name, known.lowest, known.highest) for name, known in supported]
        yield controller, 0
        for broker in (_VOTER, *_BROKERS):
            yield self._broker(broker, release, at, fenced=fenced)

    def _broker(self, broker: int, release: Release, at: MetadataVersion, *, fenced: bool) -> _Versioned:
        record = RegisterBrokerRecord(broker_id=broker, incarnation_id=self._uuid(), rack=None, fenced=fenced)
        supported = release.supported_features().items()
        record.features = [BrokerFeature(name, known.lowest, known.highest) for name, known in supported]
        if at.directory_assignment_supported:
            record.log_dirs = (self._log_dir[broker],)
        return record, at.register_broker_record_version

    def _log(self, offset: int) -> Iterator[bytes]:
        """Yield the batches behind the snapshot: the brokers are rolled, the level rises, and is used."""
        old, new = self._before.latest_metadata_version, self._after.latest_metadata_version
        steps: list[list[_Versioned]] = [list(self._registrations(self._after, old, fenced=False))]
        if self._random.random() < 0.2:
            steps.append([self._broker(_GHOST, self._after, old, fenced=False)])
            steps.append([(BrokerRegistrationChangeRecord(broker_id=_GHOST, fenced=1), 0)])
        if new != old:
            steps.append([*self._features(self._after, new), (FeatureLevelRecord(METADATA_VERSION, new.level), 0)])
        steps.append(list(self._changes(new)))
        time_ms = self._began_ms
        for step in steps:
            time_ms += self._random.randrange(1, 60) * _DAY_MS
            records = [
                Record(offset + index, time_ms, None, encode_metadata_record(*each)) for index, each in enumerate(step)
            ]
            if records:
                yield build_batch(records, base_offset=offset, leader_epoch=_EPOCH)
                offset += len(records)

    def _changes(self, at: MetadataVersion) -> Iterator[_Versioned]:
        version = at.partition_change_record_version
        for _ in range(1 + self._shape.partitions // 50):
            partition = self._random.randrange(self._shape.partitions)
            change = PartitionChangeRecord(
                partition_id=partition % self._shape.partitions_per_topic,
                topic_id=self._topics[partition // self._shape.partitions_per_topic],
            )
            in_sync = self._random.sample(_BROKERS, 2)
            change.isr = tuple(in_sync)
            if at.elr_supported and self._random.random() < 0.3:
                change.eligible_leader_replicas = tuple(each for each in _BROKERS if each not in in_sync)
            yield change, version
        if at.cidr_acl_supported and self._random.random() < 0.5:
            acl = AccessControlEntryRecord(self._uuid(), 2, "topic-0000", 3, "User:app", "10.0.0.0/8", 3, 3)
            yield acl, 0

    def _group_logs(self) -> list[bytes]:
        """Return the log of each partition of `__consumer_offsets`."""
        count = self._shape.coordinator_partitions
        records: list[list[Record]] = [[] for _ in range(count)]
        for number in range(self._shape.groups):
            group = f"group-{number:03}"
            partition = records[abs(java_string_hash(group)) % count]
            for key_type, key, version, value in self._group_records(group, number):
                encoded = _coordinator_bytes(key, key_type), _coordinator_bytes(value, version)
                partition.append(Record(len(partition), self._began_ms, *encoded))
        return [build_batch(found, base_offset=0, leader_epoch=0) if found else b"" for found in records]

    def _group_records(self, group: str, number: int) -> Iterator[tuple[int, WireMessage, int, WireMessage]]:
        has_consumer_groups = "group.version" in self._after.supported_features()
        yield 1, OffsetCommitKey(group, "topic-0000", 0), 3, OffsetCommitValue(self._random.randrange(1 << 20))
        if has_consumer_groups and number % 2:
            member = ConsumerGroupMemberMetadataValue(client_id="app", client_host="/10.0.0.1")
            member.subscribed_topic_names = ("topic-0000",)
            yield 3, ConsumerGroupMetadataKey(group), 0, ConsumerGroupMetadataValue(epoch=1)
            yield 5, ConsumerGroupMemberMetadataKey(group, f"{group}-member"), 0, member
        else:
            yield 2, GroupMetadataKey(group), 3, GroupMetadataValue(protocol_type="consumer", generation=1)

    def _uuid(self) -> bytes:
        return self._random.randbytes(16)


def _coordinator_bytes(message: WireMessage, number: int) -> bytes:
    """Encode a key with its type in front, or a value with its version."""
    versions = type(message).SCHEMA.info.versions
    version = number if number in versions else versions.ranges[0][0]
    return _INT16.pack(number) + codec.encode(message, version)
