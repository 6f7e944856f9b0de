"""A stopped cluster as its directories tell it: which log counts, the image at its end, who votes."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from falkirk.logdir.errors import DamagedLogError, NoMajorityError
from falkirk.logdir.metadata_log import MetadataLog, read_metadata_log
from falkirk.metadata.batch import MetadataBatch
from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.metadata.publishing.loader import MetadataLoader, OpenTransaction
from falkirk.storage import metadata_quorum
from falkirk.storage.bootstrap_checkpoint import FILE_NAME as BOOTSTRAP_CHECKPOINT
from falkirk.storage.bootstrap_checkpoint import bootstrap_values, read_bootstrap_checkpoint
from falkirk.storage.errors import MalformedVotersError
from falkirk.storage.metadata_quorum import STATIC_VOTERS_CONFIG, Voters, choose_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.logdir.locate import NodeDirs
    from falkirk.storage.disk import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """All that is known of a stopped cluster.

    `chosen` is the node whose metadata log counts: the longest of the latest epoch among a majority of the voters. A
    cluster that was formatted and never ran has no such node: its image is what the bootstrap files say.
    `in_snapshot` and `behind_snapshot` are the batches that the image was made of; kept, because reading a large log
    takes longer than all that is asked of it.
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
    problems: tuple[str, ...]

    @property
    def log(self) -> MetadataLog | None:
        """Give the log that counts."""
        return None if self.chosen is None else self.logs[self.chosen]

    @property
    def end_offset(self) -> int:
        """Give the first offset behind the metadata."""
        return 0 if self.log is None else self.log.end_offset

    @property
    def epoch(self) -> int:
        """Give the epoch of the last metadata record."""
        return 0 if self.log is None else self.log.epoch

    @property
    def last_timestamp(self) -> int:
        """Give the append time (ms) of the last metadata record."""
        return 0 if self.log is None else self.log.last_timestamp

    def record_batches(self) -> Iterator[MetadataBatch]:
        """Give the records that the image was made of, and older ones that the log still has, each behind the last.

        For whoever looks up where something was written: a snapshot's offsets start at 0.
        """
        yield from self.in_snapshot
        if self.log is not None:
            yield from self.log.earlier_batches()
        yield from self.behind_snapshot


def read_cluster(disk: Disk, nodes: list[NodeDirs], *, check_crc: bool = True) -> Cluster:
    """Read the metadata of all nodes.

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
    chosen = _choose(nodes, logs, voters)
    with _no_cycle_search():
        loaded = _load(nodes, None if chosen is None else logs[chosen])
    if loaded.open_transaction is not None:
        problems.append(_never_ended(loaded.open_transaction))
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
    """Say who votes: as the latest log says (kraft.version 1), else as configured, else as quorum-state remembers."""
    configured = (
        (f"node {node.node_id}'s {STATIC_VOTERS_CONFIG}", node.server_properties.get(STATIC_VOTERS_CONFIG))
        for node in nodes
        if node.server_properties is not None
    )
    try:
        return metadata_quorum.find_voters(logs.values(), configured)
    except MalformedVotersError as error:
        raise DamagedLogError(str(error)) from error


def _choose(nodes: list[NodeDirs], logs: dict[int, MetadataLog], voters: Voters | None) -> int | None:
    """Choose the node whose log an election among the given voters would follow."""
    if not logs:
        return None
    choice = choose_log(logs, voters)
    if choice.has_majority is not False:
        return choice.node_id
    if voters is None:
        raise NoMajorityError(
            f"{', '.join(str(log.directory) for log in logs.values())}: nothing says who votes "
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
    """Keep the garbage collector still: an image has no cycles, and looking for some as it grows takes a sixth more."""
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
    """Give the image at the end of the log, what it was made of, and a transaction that is open there."""
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


def _never_ended(transaction: OpenTransaction) -> str:
    return (
        f"{transaction.source}: metadata transaction {transaction.name or ''} of offset {transaction.offset} never "
        f"ended; its {len(transaction.records)} records do not count"
    )


def _bootstrap_batches(nodes: list[NodeDirs]) -> Iterator[MetadataBatch]:
    """Give the records of the first bootstrap.checkpoint that there is."""
    for node in nodes:
        for log_dir in node.log_dirs:
            file = log_dir.path / BOOTSTRAP_CHECKPOINT
            if file.is_file():
                values = bootstrap_values(read_bootstrap_checkpoint(file.read_bytes(), file=str(file)))
                yield MetadataBatch(
                    base_offset=0, end_offset=len(values), epoch=0, timestamp=0, values=values, source=str(file)
                )
                return
