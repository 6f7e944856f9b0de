"""Small stopped clusters made file by file: any roles, any records, a few kilobytes each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import (
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    VotersRecord,
)
from falkirk.protocol.messages.voters_record import Endpoint, KRaftVersionFeature, Voter
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.protocol.schema import WireMessage
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.bootstrap_checkpoint import (
    BOOTSTRAP_SNAPSHOT,
    write_bootstrap_checkpoint,
    write_bootstrap_snapshot,
)
from falkirk.storage.index import format_offset_index, format_time_index, rebuild_indexes
from falkirk.storage.partition_metadata import PartitionMetadata, format_partition_metadata
from falkirk.storage.quorum_state import QuorumState, format_quorum_state
from falkirk.storage.segment import SegmentReader
from falkirk.storage.snapshot_file import format_snapshot_name
from falkirk.versions.metadata_version import MetadataVersion

CLUSTER_ID = "hfgjSfLshYrZXYqfd36Qxg"
NOW_MS = 1_800_000_000_000
METADATA = "__cluster_metadata-0"
SEGMENT = "00000000000000000000"
TOPIC_ID = bytes([7]) * 16
GROUPS_ID = bytes([8]) * 16

Versioned = tuple[WireMessage, int]


def directory_id(node_id: int, log_dir: int = 0) -> bytes:
    return bytes([node_id, log_dir]) * 8


@dataclass(kw_only=True)
class MadeCluster:
    """One combined node at 4.3 unless said otherwise; `make` writes it, `append` extends it."""

    root: Path
    level: int = 30
    kraft_version: int = 1
    brokers: tuple[int, ...] = (1,)
    voters: tuple[int, ...] = (1,)
    log_dirs: int = 1
    # Where voter N listens; None: the log does not say.
    voter_host: str | None = "host{}"
    records: list[Versioned] = field(default_factory=list)
    # Name of a partition's directory -> its batches; each broker has a replica in its last log directory.
    partitions: dict[str, list[bytes]] = field(default_factory=dict)

    @property
    def nodes(self) -> list[int]:
        return sorted({*self.brokers, *self.voters})

    def folder(self, node_id: int) -> Path:
        return self.root / f"n{node_id}"

    def log_dir(self, node_id: int, number: int = 0) -> Path:
        return self.folder(node_id) / f"d{number}"

    def metadata(self, node_id: int) -> Path:
        return self.log_dir(node_id) / METADATA

    def make(self) -> "MadeCluster":
        values = [encode_metadata_record(*record) for record in [*self._first_records(), *self.records]]
        for node_id in self.nodes:
            for number in range(self.log_dirs if node_id in self.brokers else 1):
                self._make_log_dir(node_id, number)
            self._make_metadata(node_id, values)
            if node_id in self.brokers:
                for name, batches in self.partitions.items():
                    topic_id = GROUPS_ID if name.startswith("__consumer_offsets") else TOPIC_ID
                    make_partition(self.log_dir(node_id, self.log_dirs - 1) / name, topic_id, batches)
        return self

    def append(self, *records: Versioned, nodes: Iterable[int] | None = None) -> None:
        for node_id in self.nodes if nodes is None else nodes:
            append_metadata(self.metadata(node_id), records)

    def _first_records(self) -> list[Versioned]:
        at = MetadataVersion.of_level(self.level)
        found: list[Versioned] = [(FeatureLevelRecord("metadata.version", self.level), 0)]
        found += [(RegisterControllerRecord(controller_id=node_id), 0) for node_id in self.voters]
        for node_id in self.brokers:
            broker = RegisterBrokerRecord(broker_id=node_id, broker_epoch=node_id, fenced=False)
            if at.directory_assignment_supported:
                broker.log_dirs = tuple(directory_id(node_id, number) for number in range(self.log_dirs))
            found.append((broker, at.register_broker_record_version))
        names = sorted(self.partitions)
        for topic in sorted({name.rpartition("-")[0] for name in names}):
            topic_id = GROUPS_ID if topic == "__consumer_offsets" else TOPIC_ID
            found.append((TopicRecord(topic, topic_id), 0))
            numbers = [int(name.rpartition("-")[2]) for name in names if name.rpartition("-")[0] == topic]
            found += [(self.partition(number, topic_id=topic_id), at.partition_record_version) for number in numbers]
        return found

    def partition(self, number: int, *, topic_id: bytes = TOPIC_ID, **fields: object) -> PartitionRecord:
        made = PartitionRecord(
            partition_id=number,
            topic_id=topic_id,
            replicas=self.brokers,
            isr=self.brokers,
            leader=self.brokers[0],
            leader_epoch=0,
            partition_epoch=0,
        )
        if MetadataVersion.of_level(self.level).directory_assignment_supported:
            made.directories = tuple(directory_id(node_id, self.log_dirs - 1) for node_id in self.brokers)
        for name, value in fields.items():
            setattr(made, name, value)
        return made

    def _make_log_dir(self, node_id: int, number: int) -> None:
        path = self.log_dir(node_id, number)
        path.mkdir(parents=True)
        (path / "meta.properties").write_text(
            f"#\n#Mon Jan 01 00:00:00 UTC 2024\nnode.id={node_id}\nversion=1\ncluster.id={CLUSTER_ID}\n"
            f"directory.id={uuid_text(directory_id(node_id, number))}\n"
        )
        level = encode_metadata_record(FeatureLevelRecord("metadata.version", self.level), 0)
        (path / "bootstrap.checkpoint").write_bytes(b"".join(write_bootstrap_checkpoint([level], clock=lambda: NOW_MS)))
        (path / ".lock").touch()

    def _make_metadata(self, node_id: int, values: list[bytes]) -> None:
        path = self.metadata(node_id)
        path.mkdir()
        (path / "partition.metadata").write_bytes(_partition_metadata(bytes(15) + b"\x01"))
        (path / f"{SEGMENT}.log").write_bytes(_batches(values, 0))
        state = QuorumState(data_version=0, leader_epoch=1, current_voters=self.voters)
        if self.kraft_version:
            state = QuorumState(data_version=1, leader_epoch=1)
            chunks = write_bootstrap_snapshot(
                [], clock=lambda: NOW_MS, kraft_version=self.kraft_version, voters=self._voters()
            )
            (path / format_snapshot_name(BOOTSTRAP_SNAPSHOT)).write_bytes(b"".join(chunks))
        (path / "quorum-state").write_bytes(format_quorum_state(state))

    def _voters(self) -> VotersRecord:
        return VotersRecord(
            voters=[
                Voter(
                    voter_id=node_id,
                    voter_directory_id=directory_id(node_id),
                    endpoints=self._voter_endpoints(node_id),
                    kraft_version_feature=KRaftVersionFeature(0, 1),
                )
                for node_id in self.voters
            ]
        )

    def _voter_endpoints(self, node_id: int) -> list[Endpoint]:
        return [] if self.voter_host is None else [Endpoint("CONTROLLER", self.voter_host.format(node_id), 9093)]


def append_metadata(directory: Path, records: Iterable[Versioned]) -> None:
    """Extend a metadata partition by one batch; a new log begins where the snapshot ends."""
    logs = sorted(directory.glob("*.log"))
    values = [encode_metadata_record(*record) for record in records]
    if logs:
        data = logs[-1].read_bytes()
        end = max(batch.end_offset for batch in SegmentReader(data, file="log", base_offset=int(logs[-1].stem)))
        with logs[-1].open("ab") as log:
            log.write(_batches(values, end))
    else:
        end = int(max(directory.glob("*.checkpoint")).name.partition("-")[0])
        (directory / f"{end:020}.log").write_bytes(_batches(values, end))


def make_partition(path: Path, topic_id: bytes, batches: Sequence[bytes]) -> None:
    """Write a partition with one segment as a broker leaves it."""
    path.mkdir(parents=True)
    data = b"".join(batches)
    offset_index, time_index = rebuild_indexes(read_batches(data), base_offset=0)
    (path / f"{SEGMENT}.log").write_bytes(data)
    (path / f"{SEGMENT}.index").write_bytes(format_offset_index(offset_index))
    (path / f"{SEGMENT}.timeindex").write_bytes(format_time_index(time_index))
    (path / "partition.metadata").write_bytes(_partition_metadata(topic_id))
    (path / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")


def group_batches(entries: Sequence[LogEntry], *, per_batch: int = 3) -> list[bytes]:
    """Return coordinator entries (tests/support/group_records.py) as batches, without transactions."""
    records = []
    for entry in entries:
        assert isinstance(entry, LoggedRecord)
        assert entry.producer_id < 0
        records.append(Record(entry.offset, NOW_MS, entry.key, entry.value))
    return [
        build_batch(part, base_offset=part[0].offset, leader_epoch=0)
        for part in (records[at : at + per_batch] for at in range(0, len(records), per_batch))
    ]


def data_batches(count: int = 2) -> list[bytes]:
    return [
        build_batch([Record(offset, NOW_MS, b"k", b"v" * 50)], base_offset=offset, leader_epoch=0)
        for offset in range(count)
    ]


def _batches(values: Sequence[bytes], base_offset: int) -> bytes:
    records = [Record(offset, NOW_MS, None, value) for offset, value in enumerate(values, base_offset)]
    return build_batch(records, base_offset=base_offset, leader_epoch=1)


def _partition_metadata(topic_id: bytes) -> bytes:
    return format_partition_metadata(PartitionMetadata(topic_id=topic_id))
