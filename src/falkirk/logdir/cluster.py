"""Reads a stopped cluster from its directories: the metadata log that counts, the image at its end, the voters."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from falkirk.ledger.findings import LedgerWarning, WarningKind
from falkirk.logdir.errors import DamagedLogError, NoMajorityError
from falkirk.logdir.metadata_log import MetadataLog, read_metadata_log
from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.metadata.publishing.loader import MetadataLoader, OpenTransaction
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.storage import metadata_quorum
from falkirk.storage.bootstrap_checkpoint import FILE_NAME as BOOTSTRAP_CHECKPOINT
from falkirk.storage.bootstrap_checkpoint import bootstrap_values, read_bootstrap_checkpoint
from falkirk.storage.bounded_read import CHECKPOINT_BYTES_MAX, read_bounded
from falkirk.storage.errors import MalformedVotersError
from falkirk.storage.metadata_quorum import STATIC_VOTERS_CONFIG, Voters, choose_log
from falkirk.storage.posix_disk import PosixDisk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.logdir.locate import NodeDirs
    from falkirk.storage.disk import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A stopped cluster.

    `chosen` is the node whose metadata log counts: the longest of the latest epoch among a majority of the voters. A
    cluster that was formatted and never ran has no such node: its image comes from the bootstrap files. `in_snapshot`
    and `behind_snapshot` are the batches that the image was loaded from; kept, because reading a large log takes longer
    than everything else.
    """

    cluster_id: str
    nodes: tuple[NodeDirs, ...]
    logs: dict[int, MetadataLog]
    chosen: int | None
    image: MetadataImage
    in_snapshot: tuple[MetadataBatch, ...]
    behind_snapshot: tuple[MetadataBatch, ...]
    kraft_version: int
    voters: Voters | None
    problems: tuple[LedgerWarning, ...]

    @property
    def log(self) -> MetadataLog | None:
        """The metadata log that counts."""
        return None if self.chosen is None else self.logs[self.chosen]

    @property
    def end_offset(self) -> int:
        """End offset of the metadata, exclusive."""
        return 0 if self.log is None else self.log.end_offset

    @property
    def epoch(self) -> int:
        """Epoch of the last metadata record."""
        return 0 if self.log is None else self.log.epoch

    @property
    def last_timestamp(self) -> int:
        """Append time (ms) of the last metadata record."""
        return 0 if self.log is None else self.log.last_timestamp

    @property
    def is_live(self) -> bool:
        """True if the metadata was fetched from a running cluster: its nodes' directories are elsewhere."""
        return any(node.is_live for node in self.nodes)

    def record_batches(self) -> Iterator[MetadataBatch]:
        """Yield the records that the image was loaded from, and older ones that the log still has, each after the last.

        For finding where something was written: a snapshot's offsets start at 0.
        """
        yield from self.in_snapshot
        if self.log is not None:
            yield from self.log.earlier_batches()
        yield from self.behind_snapshot


def read_cluster(disk: Disk, nodes: list[NodeDirs], *, check_crc: bool = True, needs_majority: bool = True) -> Cluster:
    """Read the metadata of all nodes. Without `needs_majority` the log that counts may be behind that of other voters.

    Raises NoMajorityError, CorruptFileError or DamagedLogError naming the file, and RecordError for a record that
    cannot be read or applied.
    """
    logs: dict[int, MetadataLog] = {}
    for node in nodes:
        if node.metadata_path is not None:
            logs[node.node_id] = read_metadata_log(disk, node.metadata_path, check_crc=check_crc)
    logs = {node_id: log for node_id, log in logs.items() if log.end_offset > 0 or log.snapshot is not None}
    problems = [problem for log in logs.values() for problem in log.problems]
    voters = find_voters(nodes, logs)
    chosen = _choose(nodes, logs, voters, needs_majority=needs_majority)
    with _no_cycle_search():
        loaded = _load(nodes, None if chosen is None else logs[chosen])
    if loaded.open_transaction is not None:
        problems.append(_open_transaction_warning(loaded.open_transaction))
    return Cluster(
        cluster_id=nodes[0].cluster_id,
        nodes=tuple(nodes),
        logs=logs,
        chosen=chosen,
        image=loaded.image,
        in_snapshot=loaded.in_snapshot,
        behind_snapshot=loaded.behind_snapshot,
        kraft_version=0 if chosen is None else logs[chosen].kraft_version,
        voters=voters,
        problems=tuple(problems),
    )


def find_voters(nodes: list[NodeDirs], logs: dict[int, MetadataLog]) -> Voters | None:
    """Return the voters: of the latest log (kraft.version 1), else as configured, else those of quorum-state."""
    configured = (
        (f"node {node.node_id}'s {STATIC_VOTERS_CONFIG}", node.server_properties.get(STATIC_VOTERS_CONFIG))
        for node in nodes
        if node.server_properties is not None
    )
    try:
        return metadata_quorum.find_voters(logs.values(), configured)
    except MalformedVotersError as error:
        raise DamagedLogError(str(error)) from error


def _choose(
    nodes: list[NodeDirs], logs: dict[int, MetadataLog], voters: Voters | None, *, needs_majority: bool
) -> int | None:
    """Choose the node whose log would win an election among the given voters.

    A log that was fetched from a running cluster is committed, and needs no majority.
    """
    if not logs:
        return None
    live = [node.node_id for node in nodes if node.is_live and node.node_id in logs]
    if live:
        return max(live, key=lambda node_id: (logs[node_id].epoch, logs[node_id].end_offset))
    choice = choose_log(logs, voters)
    if choice.has_majority is not False or not needs_majority:
        return choice.node_id
    if voters is None:
        raise NoMajorityError(
            f"{', '.join(str(log.directory) for log in logs.values())}: the voters are not known "
            f"(no voters in the log or in quorum-state); name a node's server.properties with {STATIC_VOTERS_CONFIG}"
        )
    missing = sorted(voters.ids - set(logs))
    given = ", ".join(str(node.log_dirs[0].path) for node in nodes)
    raise NoMajorityError(
        f"{given}: {len(choice.voters_here)} of the {len(voters.ids)} voters {sorted(voters.ids)} (from "
        f"{voters.source}) are here, a majority is {voters.majority}; add the directories of node "
        f"{' or '.join(str(voter) for voter in missing)}"
    )


@contextmanager
def _no_cycle_search() -> Iterator[None]:
    """Disable the garbage collector: an image has no cycles, and searching them as it grows takes a sixth more time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Loaded(NamedTuple):
    in_snapshot: tuple[MetadataBatch, ...]
    behind_snapshot: tuple[MetadataBatch, ...]
    image: MetadataImage
    open_transaction: OpenTransaction | None


def _load(nodes: list[NodeDirs], log: MetadataLog | None) -> _Loaded:
    """Return the image at the end of the log, what it was loaded from, and a transaction that is open there."""
    loader = MetadataLoader()
    if log is None or log.end_offset == 0:
        # Never ran: the bootstrap file stands for the log, or from 4.4 on the snapshot that formatting made.
        bootstrap = (*_bootstrap_batches(nodes), *(log.snapshot_batches() if log is not None else ()))
        return _Loaded((), bootstrap, loader.load_log(bootstrap), None)
    in_snapshot, behind_snapshot = tuple(log.snapshot_batches()), tuple(log.log_batches())
    if log.snapshot is not None and log.snapshot_id is not None:
        provenance = Provenance(
            log.snapshot_id.end_offset, log.snapshot_id.epoch, log.snapshot.last_contained_log_timestamp
        )
        loader.load_snapshot(in_snapshot, provenance)
    image = loader.load_log(behind_snapshot)
    return _Loaded(in_snapshot, behind_snapshot, image, loader.open_transaction)


def _open_transaction_warning(transaction: OpenTransaction) -> LedgerWarning:
    return LedgerWarning(
        kind=WarningKind.OPEN_METADATA_TRANSACTION,
        fields={
            "path": transaction.source,
            "name": transaction.name,
            "offset": transaction.offset,
            "records": len(transaction.records),
        },
        text=f"{transaction.source}: metadata transaction {transaction.name or ''} of offset {transaction.offset} "
        f"never ended; its {len(transaction.records)} records do not count",
    )


def _bootstrap_batches(nodes: list[NodeDirs]) -> Iterator[MetadataBatch]:
    """Yield the records of the first existing bootstrap.checkpoint."""
    for node in nodes:
        for log_dir in node.log_dirs:
            file = log_dir.path / BOOTSTRAP_CHECKPOINT
            if file.is_file():
                values = bootstrap_values(
                    read_bootstrap_checkpoint(
                        read_bounded(PosixDisk(), str(file), CHECKPOINT_BYTES_MAX), file=str(file)
                    )
                )
                yield MetadataBatch(
                    base_offset=0, end_offset=len(values), epoch=0, timestamp=0, values=values, source=str(file)
                )
                return
