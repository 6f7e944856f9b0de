"""Metadata partitions made batch by batch in memory, for the fleet pipeline and for `logdir` alike."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random

from metadata_histories import HistoryMaker, Versioned
from metadata_images import options_at

from falkirk.logdir.cluster import Cluster, read_cluster
from falkirk.logdir.locate import LogDir, NodeDirs
from falkirk.metadata.levels.writer import write_image
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.pipeline.filesystem import Location
from falkirk.pipeline.fleet import FleetCluster, FleetLogDir, FleetNode
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    LeaderChangeMessage,
    PartitionChangeRecord,
    PartitionRecord,
)
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.record import Record
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.meta_properties import make_meta_properties
from falkirk.storage.quorum_state import QuorumState, format_quorum_state
from falkirk.storage.snapshot_file import SnapshotId, SnapshotName, format_snapshot_name
from falkirk.storage.snapshot_writer import write_snapshot
from falkirk.versions.metadata_version import MetadataVersion

CLUSTER_ID = "hfgjSfLshYrZXYqfd36Qxg"
METADATA = "__cluster_metadata-0"
START_MS = 1_800_000_000_000


@dataclass(frozen=True, kw_only=True)
class MadeBatch:
    """Values of metadata records; without any, a leader change."""

    base_offset: int
    values: tuple[bytes, ...]
    epoch: int = 1
    compression: Compression = Compression.NONE

    @property
    def end_offset(self) -> int:
        return self.base_offset + max(len(self.values), 1)

    @property
    def timestamp(self) -> int:
        return START_MS + 1000 * self.base_offset

    def below(self, offset: int) -> "MadeBatch":
        """Return the part below an offset."""
        return replace(self, values=self.values[: offset - self.base_offset])

    def data(self) -> bytes:
        pairs = [(None, value) for value in self.values]
        if not pairs:
            pairs = [encode_control_record(ControlRecordType.LEADER_CHANGE, LeaderChangeMessage(leader_id=1))]
        records = [Record(offset, self.timestamp, *pair) for offset, pair in enumerate(pairs, self.base_offset)]
        return build_batch(
            records,
            base_offset=self.base_offset,
            leader_epoch=self.epoch,
            compression=self.compression,
            is_control=not self.values,
        )


@dataclass(kw_only=True)
class MadePartition:
    """The metadata partition of node 1, the only voter: all batches ever written, snapshots, and segment starts.

    `snapshots` are end offsets, `segments` base offsets; segments below `log_start` are deleted.
    """

    batches: list[MadeBatch] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    segments: list[int] = field(default_factory=lambda: [0])
    log_start: int = 0
    level: int = 30

    @property
    def end_offset(self) -> int:
        return self.batches[-1].end_offset if self.batches else 0

    def add(self, *records: Versioned, **options: object) -> None:
        """Append a batch; without records it is a leader change."""
        values = tuple(encode_metadata_record(record, version) for record, version in records)
        self.batches.append(MadeBatch(base_offset=self.end_offset, values=values, **options))

    def files(self) -> dict[str, bytes]:
        """Return the files by name."""
        found = {"quorum-state": format_quorum_state(QuorumState(data_version=0, leader_epoch=1, current_voters=(1,)))}
        starts = sorted(base for base in self.segments if base >= self.log_start)
        for base, end in pairwise([*starts, 1 << 62]):
            of_segment = [batch for batch in self.batches if base <= batch.base_offset < end]
            found[f"{base:020}.log"] = b"".join(batch.data() for batch in of_segment)
        for end in self.snapshots:
            name = format_snapshot_name(SnapshotName(id=SnapshotId(end_offset=end, epoch=self._before(end).epoch)))
            found[name] = self._snapshot(end)
        return found

    def as_of(self, offset: int) -> "MadePartition":
        """Return the partition as it was when the log ended at this offset."""
        return MadePartition(
            batches=[batch.below(offset) for batch in self.batches if batch.base_offset < offset],
            snapshots=[end for end in self.snapshots if end <= offset],
            segments=[base for base in self.segments if base < offset],
            log_start=self.log_start,
            level=self.level,
        )

    def _snapshot(self, end: int) -> bytes:
        image = MetadataLoader().load_log(
            MetadataBatch(
                base_offset=batch.base_offset,
                end_offset=batch.end_offset,
                epoch=batch.epoch,
                timestamp=batch.timestamp,
                values=batch.values,
            )
            for batch in self.batches
            if batch.end_offset <= end
        )
        level = image.features.metadata_version.level if image.features.metadata_version else self.level
        records = write_image(image, options_at(level), lambda _: None)
        values = [encode_metadata_record(record, version) for record, version in records]
        last = self._before(end)
        chunks = write_snapshot(
            values, epoch=last.epoch, last_contained_log_timestamp=last.timestamp, clock=lambda: last.timestamp
        )
        return b"".join(chunks)

    def _before(self, end: int) -> MadeBatch:
        return [batch for batch in self.batches if batch.end_offset <= end][-1]


@dataclass(kw_only=True)
class MemoryCluster:
    """A cluster of one node on an in-memory disk."""

    files: dict[str, bytes]
    cluster_id: str = CLUSTER_ID

    @property
    def _meta(self):
        return make_meta_properties(cluster_id=self.cluster_id, node_id=1, directory_id=None, now_ms=0)

    def disk(self) -> MemoryDisk:
        disk = MemoryDisk()
        disk.make_directory(f"/d0/{METADATA}")
        for name, data in self.files.items():
            disk.write(f"/d0/{METADATA}/{name}", [data])
        return disk

    def fleet(self, as_of: int | None = None) -> FleetCluster:
        """Return it in the pipeline's form."""
        log_dir = FleetLogDir(location=Location(disk=self.disk(), path="/d0", uri="/d0"), meta=self._meta)
        node = FleetNode(node_id=1, log_dirs=(log_dir,), metadata_dir=log_dir)
        return FleetCluster(name="made", cluster_id=self.cluster_id, nodes=(node,), as_of=as_of)

    def read(self) -> Cluster:
        """Read it as `logdir` does."""
        log_dir = LogDir(path=Path("/d0"), meta=self._meta)
        node = NodeDirs(
            node_id=1,
            cluster_id=self.cluster_id,
            log_dirs=(log_dir,),
            metadata_dir=log_dir,
            server_properties=None,
        )
        return read_cluster(self.disk(), [node])


def random_partition(seed: int, level: int, batches: int = 25, *, moves: Sequence[int] = ()) -> MadePartition:
    """Make a random history: completed and open transactions, leader changes, snapshots, segments, codecs.

    `moves`: levels that metadata.version changes to now and then.
    """
    random = Random(seed)
    maker = HistoryMaker(random, level, moves=moves)
    made = MadePartition(level=level)
    made.add()
    made.add((FeatureLevelRecord("metadata.version", level), 0))
    for _ in range(batches):
        _add_something(made, maker, random)
        if random.random() < 0.15:
            made.snapshots.append(made.end_offset)
        if random.random() < 0.15:
            made.segments.append(made.end_offset)
    made.segments = sorted(set(made.segments) - {made.end_offset})
    starts = [base for base in made.segments if base <= max(made.snapshots, default=0)]
    made.log_start = random.choice(starts)
    return made


def garbled_partition(seed: int, level: int, *, lost: float, batches: int = 25) -> MadePartition:
    """Make a random history in which some records are lost, repeated later or altered."""
    random = Random(seed)
    maker = HistoryMaker(random, level)
    made = MadePartition(level=level)
    made.add((FeatureLevelRecord("metadata.version", level), 0))
    seen: list[Versioned] = []
    for _ in range(batches):
        records = [_garbled(deepcopy(record), random) for record in maker.batch() if random.random() > lost]
        records += [deepcopy(random.choice(seen)) for _ in range(2) if seen and random.random() < lost]
        seen += records
        if records:
            made.add(*records)
    return made


def _garbled(versioned: Versioned, random: Random) -> Versioned:
    """Occasionally break an invariant between fields of a record."""
    record, version = versioned
    if isinstance(record, PartitionRecord | PartitionChangeRecord) and random.random() < 0.1:
        breaks = random.choice(("directories", "replicas", "leader_recovery_state"))
        if breaks == "leader_recovery_state":
            record.leader_recovery_state = random.choice((0, 1, 2, -2))
        elif getattr(record, breaks) and (breaks == "replicas" or version):
            setattr(record, breaks, (*getattr(record, breaks), getattr(record, breaks)[0]))
    return record, version


def _add_something(made: MadePartition, maker: HistoryMaker, random: Random) -> None:
    options = {
        "epoch": made.batches[-1].epoch,
        "compression": random.choice((Compression.NONE,) * 3 + (Compression.GZIP,)),
    }
    chance = random.random()
    if chance < 0.08:
        made.add(epoch=options["epoch"] + 1)
    elif chance < 0.2 and maker.at.level >= MetadataVersion.parse("3.6-IV1").level:
        _add_transaction(made, maker, random, options)
    else:
        records = maker.batch()
        if records:
            made.add(*_tagged(records, random), **options)


def _tagged(records: list[Versioned], random: Random) -> list[Versioned]:
    """Add to some records tagged fields that no release knows."""
    for record, _ in records:
        if random.random() < 0.02:
            record.unknown_tagged_fields = ((random.randint(70, 72), random.randbytes(2)),)
    return records


def _add_transaction(made: MadePartition, maker: HistoryMaker, random: Random, options: dict) -> None:
    """Add a transaction that commits or aborts; what an aborted one's records made does not exist."""
    is_aborted = random.random() < 0.5
    before = deepcopy(maker) if is_aborted else maker
    made.add((BeginTransactionRecord("by chance"), 0), *maker.batch(), **options)
    records = maker.batch()
    last = AbortTransactionRecord("enough") if is_aborted else EndTransactionRecord()
    made.add(*records, (last, 0), **options)
    if is_aborted:
        maker.__dict__.update(before.__dict__ | {"random": random})


def with_open_transaction(made: MadePartition, records: Sequence[Versioned]) -> MadePartition:
    """Let a partition end inside a transaction."""
    made.add((BeginTransactionRecord("never ended"), 0), *records)
    return made


def damaged(files: dict[str, bytes], random: Random) -> dict[str, bytes]:
    """Flip, cut, insert or append bytes in logs and snapshots, or remove a file, once or several times."""
    files = dict(files)
    names = [name for name in files if name != "quorum-state"]
    for _ in range(random.choice((1, 1, 2, 5))):
        name = random.choice(names)
        data = bytearray(files.get(name, b"") or b"\0")
        at = random.randrange(len(data))
        match random.randrange(6):
            case 0 | 1:
                data[at] ^= 1 << random.randrange(8)
            case 2:
                del data[at:]
            case 3:
                data[at:at] = random.randbytes(random.randrange(1, 30))
            case 4:
                del data[at : at + random.randrange(1, 200)]
            case 5:
                data += bytes(random.randrange(1, 3000))
        if random.random() < 0.1:
            files.pop(name, None)
        elif name in files:
            files[name] = bytes(data)
    return files
