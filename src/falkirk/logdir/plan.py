"""The plan of a downgrade: losses, conversions, dropped features, and what is in the way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from falkirk.ledger.findings import (
    Blocker,
    BlockerKind,
    Conversion,
    ConversionKind,
    LedgerWarning,
    WarningKind,
    missing_nodes,
)
from falkirk.logdir.kraft_conversion import KraftConversion, plan_kraft_version
from falkirk.logdir.ledger import FeatureLevels, Level, PlanLedger, TargetLevel
from falkirk.logdir.orphaned_groups import Tombstones, plan_tombstones
from falkirk.metadata.levels.writer import LossReport, WriterOptions, assess
from falkirk.metadata.losses.locate import locate
from falkirk.protocol.uuid import uuid_text
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.ledger.reported_loss import ReportedLoss
    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.group_records import GroupPlan
    from falkirk.logdir.target import Target
    from falkirk.metadata.losses.loss import Loss
    from falkirk.storage.disk import Disk
    from falkirk.versions.metadata_version import MetadataVersion

_ELR_CONVERSIONS: Final = frozenset({ConversionKind.ELR_TO_ISR, ConversionKind.LAST_KNOWN_LEADER_TO_ISR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A downgrade to a target.

    `report` has the metadata's losses with their places, `groups` what the coordinators of the target cannot load.
    `blockers` must be settled first, `warnings` are for the operator.
    """

    cluster: Cluster
    target: Target
    before: MetadataVersion
    report: LossReport
    kraft: KraftConversion
    groups: GroupPlan
    blockers: tuple[Blocker, ...]
    warnings: tuple[LedgerWarning, ...]
    tombstones: Tombstones = field(default_factory=Tombstones)

    @property
    def is_lossless(self) -> bool:
        """True if SAFE goes on."""
        return self.report.is_lossless and not self.groups.losses()

    @property
    def options(self) -> WriterOptions:
        """How the image is written."""
        return WriterOptions(metadata_version=self.target.metadata_version, release=self.target.release)

    @property
    def losses(self) -> list[ReportedLoss]:
        """All losses, those of the metadata first."""
        deleted = {group.group_id for group in self.tombstones.groups}
        return [*(loss.reported() for loss in self.report.losses), *self.groups.losses(deleted)]

    @property
    def features_after(self) -> dict[str, int]:
        """Finalized levels of the result."""
        levels = self.cluster.image.features.levels(kraft_version=self.kraft.after)
        for loss in self.report.dropped_features:
            [name] = loss.key.identity
            levels.pop(name)
            if loss.after is not None:
                levels[name] = loss.after["feature_level"]
        return levels | {METADATA_VERSION: self.target.metadata_version.level}

    @property
    def dropped_features(self) -> list[str]:
        """Names of the dropped features; kraft.version is converted, not dropped."""
        return [loss.key.identity[0] for loss in self.report.dropped_features if loss.after is None]

    @property
    def conversions(self) -> list[Conversion]:
        """Everything that is written in another form."""
        found = [_lowered_feature(loss) for loss in self.report.dropped_features if loss.after is not None]
        if self.kraft.is_lowered:
            found.append(self.kraft.conversion)
        found += [_replica_change(loss) for loss in self.report.losses if loss.kind in _ELR_CONVERSIONS]
        return [*found, *self.groups.conversions, *(group.conversion for group in self.tombstones.groups)]

    @property
    def ledger(self) -> PlanLedger:
        """The plan as front ends report it."""
        before, to = self.before, self.target.metadata_version
        return PlanLedger(
            cluster_id=self.cluster.cluster_id,
            before=Level(before.level, str(before)),
            target=TargetLevel(to.level, str(to), self.target.release.name),
            lossless=self.is_lossless,
            losses=tuple(self.losses),
            dropped_features=tuple(self.dropped_features),
            conversions=tuple(self.conversions),
            blockers=self.blockers,
            warnings=self.warnings,
            inaccessible=tuple(loss.reported() for loss in self.report.inaccessible),
            features=FeatureLevels(
                before=self.cluster.image.features.levels(kraft_version=self.kraft.before),
                after=self.features_after,
                reasons=tuple(loss.detail for loss in self.report.dropped_features),
            ),
            groups=self.groups.reported(),
            tombstones=tuple(group.reported() for group in self.tombstones.groups),
            controller_quorum_voters=self.kraft.quorum_voters,
        )

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of `plan --json`."""
        return self.ledger.as_json()


def with_tombstones(disk: Disk, plan: Plan) -> Plan:
    """Return the plan with tombstones for records of groups that nothing writes at the target's levels.

    Raises CorruptFileError.
    """
    tombstones = plan_tombstones(disk, plan.cluster, plan.target.release, plan.features_after)
    return replace(plan, tombstones=tombstones, warnings=(*plan.warnings, *tombstones.left_alone))


def make_plan(cluster: Cluster, target: Target, groups: GroupPlan) -> Plan:
    """Plan a downgrade. Raises what `assess` and `locate` raise for records that cannot be read."""
    before = cluster.image.features.metadata_version
    kraft = plan_kraft_version(cluster, target)
    report = assess(cluster.image, WriterOptions(metadata_version=target.metadata_version, release=target.release))
    located = locate([*report.losses, *report.inaccessible], cluster.record_batches())
    count = len(report.losses)
    return Plan(
        cluster=cluster,
        target=target,
        before=target.metadata_version if before is None else before,
        report=replace(report, losses=located[:count], inaccessible=located[count:]),
        kraft=kraft,
        groups=groups,
        blockers=(*_level_blockers(cluster, before, target.metadata_version), *kraft.blockers),
        warnings=(*_warnings(cluster), *groups.warnings),
    )


def _level_blockers(cluster: Cluster, before: MetadataVersion | None, to: MetadataVersion) -> Iterator[Blocker]:
    if before is None:
        path = cluster.nodes[0].log_dirs[0].path
        yield Blocker(
            kind=BlockerKind.NO_METADATA_VERSION,
            fields={"path": str(path)},
            text=f"{path}: no metadata.version is finalized",
        )
    elif to > before:
        yield Blocker(
            kind=BlockerKind.TARGET_ABOVE,
            fields={"from": str(before), "to": str(to)},
            text=f"metadata.version is {before}, and {to} is above it: "
            "start the cluster and upgrade it with kafka-features",
        )


def _warnings(cluster: Cluster) -> list[LedgerWarning]:
    if cluster.is_live:
        return [*cluster.problems]
    here = {node.node_id for node in cluster.nodes}
    known = set(cluster.image.cluster.brokers) | set(cluster.image.cluster.controllers)
    known |= cluster.voters.ids if cluster.voters is not None else frozenset()
    missing = [missing_nodes(sorted(known - here))] if known - here else []
    return [*cluster.problems, *missing, *_missing_log_dirs(cluster)]


def _missing_log_dirs(cluster: Cluster) -> Iterator[LedgerWarning]:
    """Yield registered log directories that are not here: not named by the operator, or on a failed disk."""
    for node in cluster.nodes:
        broker = cluster.image.cluster.brokers.get(node.node_id)
        here = {log_dir.meta.directory_id for log_dir in node.log_dirs}
        gone = [] if broker is None else [uuid_text(each) for each in broker.log_dirs if each not in here]
        if gone:
            yield LedgerWarning(
                kind=WarningKind.MISSING_LOG_DIRS,
                fields={"node_id": node.node_id, "directory_ids": gone},
                text=f"node {node.node_id} is registered with log directories that are not here: {', '.join(gone)}; "
                "name them too, or what lies there does not come along",
            )


def _lowered_feature(loss: Loss) -> Conversion:
    [name] = loss.key.identity
    fields = {"feature": name, "before": loss.before["feature_level"], "after": (loss.after or {})["feature_level"]}
    return Conversion(kind=ConversionKind.FEATURE_LOWERED, fields=fields, text=loss.detail)


def _replica_change(loss: Loss) -> Conversion:
    after = loss.after or {}
    state = ", recovering" if after.get("leader_recovery_state") else ""
    return Conversion(
        kind=ConversionKind(loss.kind),
        fields={**loss.key.fields(), "isr_before": loss.before["isr"], **after},
        text=f"{loss.key_text}: ISR {loss.before['isr']} becomes {after.get('isr')}, "
        f"leader {after.get('leader')}{state}",
    )
