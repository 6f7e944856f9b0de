"""Blockers of a downgrade of one cluster's stopped directories, from its rows in the tables.

The findings are those of `falkirk logdir plan` about metadata and nodes. The wording differs: a plan names directories,
a fleet names clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.ledger.findings import (
    Blocker,
    BlockerKind,
    LedgerWarning,
    WarningKind,
    missing_nodes,
    voter_without_address,
)
from falkirk.pipeline.transforms.feature_targets import kept_level
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.uuid import uuid_text
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.versions.release import Release

_NONE: Final = uuid_text(ZERO_UUID)


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


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
