"""Each cluster's stopped directories at a target: what becomes of its features, and what is in the way.

The findings are those of `falkirk logdir plan` about metadata and nodes. The wording differs: a plan names directories,
a fleet names clusters.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from falkirk.ledger.findings import (
    Blocker,
    BlockerKind,
    LedgerWarning,
    WarningKind,
    missing_nodes,
    voter_without_address,
)
from falkirk.pipeline.tables.clusters import CLUSTERS, LOG_DIRS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.metadata_state import BROKERS, CONTROLLERS
from falkirk.pipeline.tables.table import STRINGS
from falkirk.pipeline.transforms.cluster_context import finalized_features
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.feature_targets import kept_level, target_of
from falkirk.pipeline.transforms.levels import level_name
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.uuid import uuid_text
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.ledger.findings import Finding
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows

_NONE: Final = uuid_text(ZERO_UUID)
_FINDINGS: Final = pa.list_(pa.struct([("kind", pa.string()), ("fields", pa.string()), ("text", pa.string())]))
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "from_level": pa.int16(),
    "from_version": pa.string(),
    "to_level": pa.int32(),
    "to_version": pa.string(),
    "release": pa.string(),
    "dropped_features": STRINGS,
    "lowered_features": STRINGS,
    "blockers": _FINDINGS,
    "warnings": _FINDINGS,
    "controller_quorum_voters": pa.string(),
}
STOPPED: Final = pa.schema(_COLUMNS)
_NOT_DROPPED: Final = frozenset({METADATA_VERSION, KRAFT_VERSION})
_OF_CLUSTERS: Final = (
    "metadata_version", "kraft_version", "has_majority", "is_complete", "nodes", "voters", "dynamic_voters",
)  # fmt: skip


def stopped_clusters(at: MetadataVersion, release: Release) -> ClusterQuestion:
    """Return a row for each cluster whose metadata was read: all of a verdict but what it would lose.

    Columns (STOPPED): cluster; level and its name, here and at the target; release; names of the features that the
    target drops, and that it has at a lower level; arrays `blockers` and `warnings`, whose elements have kind, fields
    (JSON) and text; and the value of controller.quorum.voters that every node needs if kraft.version has to go down to
    0, else null. Problems with files are in the table `problems`.
    """
    # Workers look the names up again: the releases' tables are not pickled.
    work = functools.partial(_stopped, at=int(at.level), release=release.name)
    needed = [CLUSTERS, FEATURE_LEVELS, LOG_DIRS, BROKERS, CONTROLLERS]
    return ClusterQuestion(needed=needed, work=work, schema=STOPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedCluster:
    """One cluster; a list is None if nothing is known, as in tables.

    `dynamic_voters` and the fields up to it are columns of CLUSTERS. `registered` has the ids of registered nodes,
    `registered_dirs` (broker_id, log_dirs) of brokers, `directories` the ids of all log directories in the fleet,
    `metadata_dirs` (node_id, directory_id) of those with metadata. Any: rows as Arrow returns them.
    """

    metadata_version: int | None
    kraft_version: int | None
    has_majority: bool | None
    is_complete: bool | None
    nodes: list[int] | None
    voters: list[int] | None
    dynamic_voters: list[dict[str, Any]] | None
    registered: list[int] | None
    registered_dirs: list[dict[str, Any]] | None
    directories: list[str] | None
    metadata_dirs: list[dict[str, Any]] | None

    @classmethod
    def of_rows(cls, rows: ClusterRows) -> Iterator[StoppedCluster]:
        """Yield the cluster, if its metadata was read."""
        directories = rows.read(LOG_DIRS, "node_id", "directory_id", "has_metadata").to_pylist()
        brokers = rows.read(BROKERS, "broker_id", "log_dirs").to_pylist()
        controllers = rows.read(CONTROLLERS, "controller_id").to_pylist()
        for known in rows.read(CLUSTERS, *_OF_CLUSTERS).to_pylist():
            yield cls(
                **known,
                registered=[row["broker_id"] for row in brokers] + [row["controller_id"] for row in controllers],
                registered_dirs=sorted(
                    (broker for broker in brokers if broker["log_dirs"]), key=lambda broker: broker["broker_id"]
                ),
                directories=[each["directory_id"] for each in directories],
                metadata_dirs=sorted(
                    (each for each in directories if each["has_metadata"]),
                    key=lambda each: (each["node_id"], each["directory_id"] or ""),
                ),
            )

    def blockers(self, at: MetadataVersion, release: Release) -> Iterator[Blocker]:
        """Yield what must be settled first."""
        if self.metadata_version is None:
            yield Blocker(kind=BlockerKind.NO_METADATA_VERSION, fields={}, text="no metadata.version is finalized")
        elif at.level > self.metadata_version:
            own = MetadataVersion.of_level(self.metadata_version)
            yield Blocker(
                kind=BlockerKind.TARGET_ABOVE,
                fields={"from": str(own), "to": str(at)},
                text=f"metadata.version is {own}, and {at} is above it: upgrade the running cluster with "
                "kafka-features",
            )
        if self.has_majority is False:
            yield Blocker(
                kind=BlockerKind.NO_MAJORITY,
                fields={},
                text="no majority of the voters is here: another node may have a newer log",
            )
        if self.is_complete is False:
            yield Blocker(
                kind=BlockerKind.INCOMPLETE_METADATA,
                fields={},
                text="the metadata could not be read to its end: the table problems says why",
            )
        if self.lowers_kraft_version(at, release):
            for voter in sorted(set(self.voters or ()) - {voter["voter_id"] for voter in self._with_address()}):
                yield voter_without_address(voter, f"{at} (Kafka {release.word})")
            yield from self._strangers()

    def warnings(self) -> Iterator[LedgerWarning]:
        """Yield what the operator should know, and what does not stand in the way."""
        here = set(self.nodes or ())
        missing = sorted((set(self.registered or ()) | set(self.voters or ())) - here)
        if missing:
            yield missing_nodes(missing)
        for broker in self.registered_dirs or ():
            gone = [each for each in broker["log_dirs"] if each not in (self.directories or ())]
            if broker["broker_id"] in here and gone:
                yield LedgerWarning(
                    kind=WarningKind.MISSING_LOG_DIRS,
                    fields={"node_id": broker["broker_id"], "directory_ids": gone},
                    text=f"node {broker['broker_id']} is registered with log directories that are not here: "
                    f"{', '.join(gone)}",
                )

    def lowers_kraft_version(self, at: MetadataVersion, release: Release) -> bool:
        """Return whether the voters have to leave the log."""
        level = self.kraft_version or 0
        return level > 0 and kept_level(KRAFT_VERSION, level, at, release)[0] < level

    def quorum_voters(self) -> str:
        """Return the value of controller.quorum.voters for the voters of the log."""
        return ",".join(
            f"{voter['voter_id']}@{_host(voter['host'])}:{voter['port']}"
            for voter in sorted(self._with_address(), key=lambda voter: voter["voter_id"])
        )

    def _with_address(self) -> list[dict[str, Any]]:  # Any: see the class
        return [voter for voter in self.dynamic_voters or () if voter["host"] is not None]

    def _strangers(self) -> Iterator[Blocker]:
        """Name nodes whose id votes, but not with the directory that is here: static voters have no directories."""
        expected = {voter["voter_id"]: voter["directory_id"] for voter in self.dynamic_voters or ()}
        for here in self.metadata_dirs or ():
            votes, actual = expected.get(here["node_id"]), here["directory_id"]
            if votes not in {None, _NONE} and actual not in {None, votes}:
                yield Blocker(
                    kind=BlockerKind.VOTER_DIRECTORY_DIFFERS,
                    fields={"node_id": here["node_id"], "directory_id": actual, "voter_directory_id": votes},
                    text=f"node {here['node_id']} votes with directory {votes}, and {actual} is here: "
                    "with static voters they cannot be distinguished",
                )


def _stopped(rows: ClusterRows, *, at: int, release: str) -> pa.Table:
    to, reader = MetadataVersion.of_level(at), Release.parse(release)
    # kraft.version is converted: the voters move into the configuration.
    levels = {name: each for name, each in finalized_features(rows).items() if name not in _NOT_DROPPED}
    kept = {name: target_of(name, level, at, release).kept_level for name, level in sorted(levels.items())}
    found = []
    for cluster in StoppedCluster.of_rows(rows):
        row = {
            "from_level": cluster.metadata_version,
            "from_version": level_name(cluster.metadata_version),
            "to_level": at,
            "to_version": to.name,
            "release": release,
            "dropped_features": [name for name, level in kept.items() if level == 0],
            "lowered_features": [name for name, level in kept.items() if 0 < level < levels[name]],
            "blockers": _rows(cluster.blockers(to, reader)),
            "warnings": _rows(cluster.warnings()),
            "controller_quorum_voters": cluster.quorum_voters() if cluster.lowers_kraft_version(to, reader) else None,
        }
        found.append(row)
    return pa.Table.from_pylist(found, STOPPED)


def _rows(findings: Iterable[Finding]) -> list[dict[str, str]]:
    return [
        {"kind": found.kind, "fields": msgspec.json.encode(found.fields).decode(), "text": found.text}
        for found in findings
    ]


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
