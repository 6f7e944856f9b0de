"""What a downgrade would do, before anything is done: losses, conversions, dropped features, and what is in the way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from falkirk.coordinator.prediction.group_losses import tombstoned
from falkirk.logdir.kraft_conversion import KraftConversion, plan_kraft_version
from falkirk.logdir.orphaned_groups import Tombstones, plan_tombstones
from falkirk.metadata.locate import locate
from falkirk.metadata.writer import LossReport, WriterOptions, assess
from falkirk.protocol.uuid import uuid_text
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.group_records import GroupPlan
    from falkirk.logdir.target import Target
    from falkirk.metadata.loss import Loss
    from falkirk.storage.disk import Disk
    from falkirk.versions.metadata_version import MetadataVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The way down to a target.

    `report` has the metadata's losses with their places, `groups` what the coordinators of the target cannot load.
    `blockers` are what must be settled first, `warnings` what the operator should know.
    """

    cluster: Cluster
    target: Target
    before: MetadataVersion
    report: LossReport
    kraft: KraftConversion
    groups: GroupPlan
    blockers: tuple[str, ...]
    warnings: tuple[str, ...]
    tombstones: Tombstones = field(default_factory=Tombstones)

    @property
    def is_lossless(self) -> bool:
        """Say whether SAFE would go on."""
        return self.report.is_lossless and not self.groups.losses

    @property
    def options(self) -> WriterOptions:
        """Say how the image is to be written."""
        return WriterOptions(metadata_version=self.target.metadata_version, release=self.target.release)

    @property
    def losses(self) -> list[dict[str, Any]]:  # Any: JSON values
        """Give all losses as JSON has them, those of the metadata first."""
        deleted = {group.group_id for group in self.tombstones.groups}
        of_groups = (
            tombstoned(loss) if loss["key_fields"]["group"] in deleted else loss for loss in self.groups.losses
        )
        return [*(loss.as_json() for loss in self.report.losses), *of_groups]

    @property
    def features_after(self) -> dict[str, int]:
        """Give the finalized levels of the result."""
        levels = self.cluster.image.features.levels(kraft_version=self.kraft.after)
        for loss in self.report.dropped_features:
            [name] = loss.key.identity
            levels.pop(name)
            if loss.after is not None:
                levels[name] = loss.after["feature_level"]
        return levels | {METADATA_VERSION: self.target.metadata_version.level}

    @property
    def dropped_features(self) -> list[str]:
        """Name the features of which nothing is left; kraft.version is converted, not dropped."""
        return [loss.key.identity[0] for loss in self.report.dropped_features if loss.after is None]

    @property
    def conversions(self) -> list[str]:
        """Give a sentence for each thing that is written in another form."""
        found = [loss.detail for loss in self.report.dropped_features if loss.after is not None]
        if self.kraft.is_lowered:
            found.append(
                f"kraft.version {self.kraft.before} becomes {self.kraft.after}: {self.kraft.reason}; "
                f"set controller.quorum.voters={self.kraft.quorum_voters} on every node"
            )
        elr = [loss for loss in self.report.losses if loss.kind in _ELR_CONVERSIONS]
        found += [f"{loss.key_text}: {_replica_change(loss)}" for loss in elr]
        return [*found, *self.groups.conversions, *(group.sentence for group in self.tombstones.groups)]

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Give the document of `plan --json`, which `downgrade --json` and the ledger repeat."""
        return {
            "cluster_id": self.cluster.cluster_id,
            "from": _version(self.before),
            "to": _version(self.target.metadata_version) | {"release": self.target.release.name},
            "lossless": self.is_lossless,
            "losses": self.losses,
            "dropped_features": self.dropped_features,
            "conversions": self.conversions,
            "blockers": list(self.blockers),
            "warnings": list(self.warnings),
            "inaccessible": [loss.as_json() for loss in self.report.inaccessible],
            "features": {
                "before": self.cluster.image.features.levels(kraft_version=self.kraft.before),
                "after": self.features_after,
                "reasons": [loss.detail for loss in self.report.dropped_features],
            },
            "groups": self.groups.as_json(),
            "tombstones": [group.as_json() for group in self.tombstones.groups],
            "controller_quorum_voters": self.kraft.quorum_voters,
        }


def with_tombstones(disk: Disk, plan: Plan) -> Plan:
    """Give the plan with tombstones for what groups leave behind that nothing writes at the target's levels.

    Raises CorruptFileError.
    """
    tombstones = plan_tombstones(disk, plan)
    return replace(plan, tombstones=tombstones, warnings=(*plan.warnings, *tombstones.left_alone))


_ELR_CONVERSIONS = {"elr_to_isr", "last_known_leader_to_isr"}


def make_plan(cluster: Cluster, target: Target, groups: GroupPlan) -> Plan:
    """Work out the way down. Raises what `assess` and `locate` raise for records that cannot be read."""
    before = cluster.image.features.metadata_version
    blockers, warnings = [], _warnings(cluster)
    if before is None:
        before = target.metadata_version
        blockers.append(f"{cluster.nodes[0].log_dirs[0].path}: no metadata.version is finalized")
    elif target.metadata_version > before:
        blockers.append(
            f"metadata.version is {before}, and {target.metadata_version} is above it: "
            "start the cluster and upgrade it with kafka-features"
        )
    kraft = plan_kraft_version(cluster, target)
    blockers += kraft.blockers
    report = assess(cluster.image, WriterOptions(metadata_version=target.metadata_version, release=target.release))
    located = locate([*report.losses, *report.inaccessible], cluster.record_batches())
    report.losses, report.inaccessible = located[: len(report.losses)], located[len(report.losses) :]
    return Plan(
        cluster=cluster,
        target=target,
        before=before,
        report=report,
        kraft=kraft,
        groups=groups,
        blockers=tuple(blockers),
        warnings=(*warnings, *groups.warnings),
    )


def _warnings(cluster: Cluster) -> list[str]:
    """Say what is not as it should be, and does not stand in the way."""
    here = {node.node_id for node in cluster.nodes}
    known = set(cluster.image.cluster.brokers) | set(cluster.image.cluster.controllers)
    known |= cluster.voters.ids if cluster.voters is not None else frozenset()
    return [*cluster.problems, *_missing_nodes(sorted(known - here)), *_missing_log_dirs(cluster)]


def _missing_nodes(node_ids: list[int]) -> list[str]:
    if not node_ids:
        return []
    which = f"node {node_ids[0]} belongs to the cluster and is not here: before it starts again"
    if len(node_ids) > 1:
        names = ", ".join(map(str, node_ids))
        which = f"nodes {names} belong to the cluster and are not here: before one of them starts again"
    thing = "its metadata partition (__cluster_metadata-0) and bootstrap.checkpoint must go"
    return [f"{which}, {thing}, or its newer records stop it"]


def _missing_log_dirs(cluster: Cluster) -> list[str]:
    """Name log directories with which a broker is registered, and which are not here: forgotten, or of a dead disk."""
    found = []
    for node in cluster.nodes:
        broker = cluster.image.cluster.brokers.get(node.node_id)
        here = {log_dir.meta.directory_id for log_dir in node.log_dirs}
        gone = [] if broker is None else [uuid_text(each) for each in broker.log_dirs if each not in here]
        if gone:
            found.append(
                f"node {node.node_id} is registered with log directories that are not here: {', '.join(gone)}; "
                "name them too, or what lies there does not come along"
            )
    return found


def _version(metadata_version: MetadataVersion) -> dict[str, Any]:  # Any: JSON values
    return {"level": metadata_version.level, "name": str(metadata_version)}


def _replica_change(loss: Loss) -> str:
    after = loss.after or {}
    state = ", recovering" if after.get("leader_recovery_state") else ""
    return f"ISR {loss.before['isr']} becomes {after.get('isr')}, leader {after.get('leader')}{state}"
