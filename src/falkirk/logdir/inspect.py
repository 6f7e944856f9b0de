"""The contents of a stopped cluster's directories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from falkirk.metadata.levels.minimum_version import MinimumVersion, minimum_version
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from falkirk.ledger.findings import LedgerWarning
    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.group_records import GroupPlan
    from falkirk.logdir.locate import NodeDirs
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A cluster, its groups as a release reads them, and the lowest level that holds its metadata without loss."""

    cluster: Cluster
    groups: GroupPlan
    release: Release
    minimum: MinimumVersion

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of `inspect --json`."""
        cluster, image = self.cluster, self.cluster.image
        at = image.features.metadata_version
        return {
            "cluster_id": cluster.cluster_id,
            "nodes": [self._node(node) for node in cluster.nodes],
            "metadata_version": None if at is None else {"level": at.level, "name": str(at)},
            "features": image.features.levels(kraft_version=cluster.kraft_version),
            "minimum_version": self.minimum.as_json(),
            "counts": image.counts() | {"groups": self.groups.counts()},
            "epoch": cluster.epoch,
            "end_offset": cluster.end_offset,
            "voters": None if cluster.voters is None else sorted(cluster.voters.ids),
            "release": self.release.name,
            "groups": [group.as_json() for group in self.groups.reported()],
            "group_losses": [loss.as_json() for loss in self.groups.losses()],
            "problems": [problem.text for problem in self.problems],
        }

    @property
    def problems(self) -> tuple[LedgerWarning, ...]:
        """Faults of metadata files, and warnings about groups."""
        return (*self.cluster.problems, *self.groups.warnings)

    def _node(self, node: NodeDirs) -> dict[str, Any]:  # Any: JSON values
        log = self.cluster.logs.get(node.node_id)
        return {
            "node_id": node.node_id,
            "roles": self._roles(node),
            "log_dirs": [
                {
                    "path": str(log_dir.path),
                    "directory_id": None if log_dir.meta.directory_id is None else uuid_text(log_dir.meta.directory_id),
                    "holds_metadata": log_dir is node.metadata_dir,
                }
                for log_dir in node.log_dirs
            ],
            "epoch": None if log is None else log.epoch,
            "end_offset": None if log is None else log.end_offset,
            "chosen": node.node_id == self.cluster.chosen,
        }

    def _roles(self, node: NodeDirs) -> list[str]:
        roles = []
        if node.node_id in self.cluster.image.cluster.brokers:
            roles.append("broker")
        if self.cluster.voters is not None and node.node_id in self.cluster.voters.ids:
            roles.append("controller")
        return roles


def inspect_cluster(cluster: Cluster, groups: GroupPlan, release: Release) -> Inspection:
    """Inspect a cluster; `groups` are judged for `release`."""
    levels = cluster.image.features.levels(kraft_version=cluster.kraft_version)
    return Inspection(
        cluster=cluster, groups=groups, release=release, minimum=minimum_version(cluster.image, levels=levels)
    )
