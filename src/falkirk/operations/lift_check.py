"""Whether and how a running cluster of real Kafka could be taken to a lower level, before anything is done.

The ledger is the one of `logdir plan`, made of copies of the running cluster's logs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from falkirk.client.node_versions import NodeVersions
from falkirk.ledger.findings import Blocker, BlockerKind, LedgerWarning, WarningKind
from falkirk.logdir.cluster import read_cluster
from falkirk.logdir.group_records import read_groups, transaction_surveys
from falkirk.logdir.kraft_conversion import reason_not_kept
from falkirk.logdir.locate import find_nodes
from falkirk.logdir.plan import make_plan
from falkirk.metadata.controller.features.coordinator_use import CoordinatorUse, GroupInUse, cut_off_by_lowering
from falkirk.operations.errors import OperationError
from falkirk.operations.lift_findings import (
    ghost_controllers,
    image_differences,
    isr_blockers,
    lacking_in,
    quorum_layout,
    refused_members,
    silent_nodes,
    stale_registrations,
    stuck_producers,
    unregistered_voters,
    unsupporting_nodes,
    voters_at_bootstrap,
)
from falkirk.operations.lift_observation import METADATA
from falkirk.operations.lift_properties import unsupported_classes, without_accepted
from falkirk.operations.lift_way import choose_way
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.posix_disk import PosixDisk
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from falkirk.ledger.open_transaction import OpenTransaction
    from falkirk.ledger.reported_loss import ReportedLoss
    from falkirk.logdir.plan import Plan
    from falkirk.logdir.target import Target
    from falkirk.operations.lift_observation import Observation
    from falkirk.operations.lift_way import WayChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLogs:
    """What the mirrored logs hold: the plan of the downgrade, and the open transactions.

    `with_client_version`: transactional ids with a transaction.version of their client.
    """

    plan: Plan
    transactions: tuple[OpenTransaction, ...]
    with_client_version: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftCheck:
    """The verdict. `logs` is None if the metadata log could not be read; `way` is None if the quorum was not seen.

    `cut_off`: members and open transactions that a lowering of their feature ends while the cluster runs, as the
    controller that lowers it will count them; a stopped cluster has neither.
    """

    observation: Observation
    target: Target
    level: MetadataVersion | None
    logs: ReadLogs | None
    blockers: tuple[Blocker, ...]
    warnings: tuple[LedgerWarning, ...]
    way: WayChoice | None
    cut_off: tuple[ReportedLoss, ...] = ()

    @property
    def is_lossless(self) -> bool:
        """True if it is known that nothing would be lost or cut off."""
        return self.logs is not None and self.logs.plan.is_lossless and not self.cut_off

    @property
    def loss_kinds(self) -> frozenset[str]:
        """The kinds of all that would be lost or cut off, as far as it is known."""
        lost = [] if self.logs is None else self.logs.plan.losses
        return frozenset(loss.kind for loss in (*lost, *self.cut_off))

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of `lift check --json`."""
        seen, logs = self.observation, self.logs
        return {
            "cluster_id": seen.cluster_id,
            "from": None if self.level is None else {"level": self.level.level, "name": str(self.level)},
            "to": {
                "level": self.target.metadata_version.level,
                "name": str(self.target.metadata_version),
                "release": self.target.release.name,
            },
            "lossless": self.is_lossless if logs is not None else None,
            "blockers": [each.as_json() for each in self.blockers],
            "warnings": [each.as_json() for each in self.warnings],
            "ledger": None if logs is None else logs.plan.as_json(),
            "cut_off": [loss.as_json() for loss in self.cut_off],
            "quorum": _quorum_json(self),
            "nodes": [*_nodes_json(seen)],
            "groups": [
                {"group": each.group_id, "type": each.type, "state": each.state, "protocol_type": each.protocol_type}
                for each in seen.groups
            ],
            "open_transactions": [] if logs is None else [asdict(each) for each in logs.transactions],
            "way": None if self.way is None else self.way.as_json(),
            "unseen": [
                {"what": each.what, "reason": each.reason, "needs": None if each.needs is None else str(each.needs)}
                for each in seen.unseen
            ],
            "missing_rights": [str(each) for each in seen.missing_rights],
            "directory": None if seen.directory is None else str(seen.directory),
        }


def read_logs(directory: Path, target: Target) -> ReadLogs:
    """Read the mirrored logs as `logdir plan` reads a stopped cluster's. Raises as `read_cluster` and `make_plan`."""
    disk = PosixDisk()
    cluster = read_cluster(disk, find_nodes([directory]))
    transactions: list[OpenTransaction] = []
    with_client_version: list[str] = []
    for replica, survey in transaction_surveys(disk, cluster):
        transactions += (each.reported(replica.partition) for each in survey.unfinished())
        with_client_version += survey.with_client_version()
    return ReadLogs(
        plan=make_plan(cluster, target, read_groups(disk, cluster, target.release)),
        transactions=tuple(transactions),
        with_client_version=tuple(sorted(with_client_version)),
    )


def finalized_level(observation: Observation) -> MetadataVersion | None:
    """Return the cluster's metadata.version as its nodes report it; None if none does."""
    levels = {
        answer.finalized_features[METADATA_VERSION].max_version_level
        for answer in observation.answers.values()
        if isinstance(answer, NodeVersions) and METADATA_VERSION in answer.finalized_features
    }
    return MetadataVersion.of_level(max(levels)) if levels else None


def check_lift(
    observation: Observation,
    logs: ReadLogs | None,
    target: Target,
    *,
    of_files: Iterable[Blocker | LedgerWarning] = (),
    accepted: Collection[str] = (),
) -> LiftCheck:
    """Return the verdict. `of_files`: what given `server.properties` have in the way; `accepted`: keys that may stay.

    Raises OperationError for a target that is not below the cluster's level.
    """
    level = finalized_level(observation) if logs is None else logs.plan.before
    if level is not None and target.metadata_version >= level:
        raise OperationError(
            f"metadata.version is {level}, and {target.metadata_version} is not below it: there is nothing to lower"
        )
    findings = [*_findings(observation, logs, target), *of_files]
    kraft_version = _kraft_version(observation, logs)
    layout = quorum_layout(observation, kraft_version=kraft_version, keeps_dynamic=reason_not_kept(1, target) is None)
    way = (
        None
        if layout is None
        else choose_way(
            layout,
            level=str(target.metadata_version),
            release=target.release.word,
            producers_wait=any(each.kind is WarningKind.PRODUCERS_WAIT for each in findings),
        )
    )
    blockers = [each for each in findings if isinstance(each, Blocker)]
    if kraft_version and (reason := reason_not_kept(kraft_version, target)) is not None:
        way = None if way is None else replace(way, possible=())
        blockers.append(
            Blocker(
                kind=BlockerKind.NO_WAY,
                fields={"refused": []},
                text=f"{reason}, and kraft.version is not lowered on a running cluster: stop it, and use "
                "`falkirk logdir`",
            )
        )
    elif way is not None and not way.possible:
        blockers.append(
            Blocker(
                kind=BlockerKind.NO_WAY,
                fields={"refused": [{"kind": str(each.kind), "reason": each.reason} for each in way.refused]},
                text="no way fits the quorum, each for a reason of its own; stopped, the cluster can go down with "
                "`falkirk logdir`",
            )
        )
    return LiftCheck(
        observation=observation,
        target=target,
        level=level,
        logs=logs,
        blockers=tuple(without_accepted(blockers, accepted)),
        warnings=tuple(each for each in findings if isinstance(each, LedgerWarning)),
        way=way,
        cut_off=() if logs is None else _cut_off(logs),
    )


def _cut_off(logs: ReadLogs) -> tuple[ReportedLoss, ...]:
    """Return what the lowered features cut off, without what is lost on a stopped cluster, too."""
    before = logs.plan.cluster.image.features.levels(kraft_version=logs.plan.kraft.before)
    after = logs.plan.features_after
    use = CoordinatorUse(
        groups=tuple(
            GroupInUse(
                group_id=group.group,
                type=group.type,
                members=group.members,
                partition=group.partition,
                committed=group.committed_offsets,
            )
            for group in logs.plan.groups.reported()
        ),
        transactions=logs.transactions,
    )
    known = {(loss.kind, loss.key_fields.get("group")) for loss in logs.plan.losses}
    return tuple(
        loss
        for loss in cut_off_by_lowering(use, before, after)
        if (loss.kind, loss.key_fields.get("group")) not in known
    )


def _findings(observation: Observation, logs: ReadLogs | None, target: Target) -> Iterator[Blocker | LedgerWarning]:
    yield from silent_nodes(observation)
    yield from voters_at_bootstrap(observation)
    for node_id, configs in sorted(observation.configs.items()):
        if observation.quorum is not None and node_id in observation.quorum.voters:
            yield from unsupported_classes(f"node {node_id}", configs)
    if logs is None:
        reason = next((str(each) for each in observation.unseen if each.what == METADATA), METADATA)
        yield Blocker(
            kind=BlockerKind.INCOMPLETE_METADATA,
            fields={},
            text=f"what would be lost is not known: {reason}",
        )
        yield from isr_blockers(observation.lacking)
        return
    plan = logs.plan
    image = plan.cluster.image
    yield from plan.blockers
    yield from image_differences(image, observation)
    yield from unsupporting_nodes(image, target)
    yield from unregistered_voters(image, observation)
    yield from isr_blockers(lacking_in(image))
    yield from plan.warnings
    yield from ghost_controllers(image, observation.quorum)
    yield from stale_registrations(image, observation)
    yield from refused_members(plan.groups.reported())
    yield from stuck_producers(observation, logs.with_client_version, plan.features_after, target.release)


def _kraft_version(observation: Observation, logs: ReadLogs | None) -> int:
    if logs is not None:
        return logs.plan.kraft.before
    for answer in observation.answers.values():
        if isinstance(answer, NodeVersions) and KRAFT_VERSION in answer.finalized_features:
            return answer.finalized_features[KRAFT_VERSION].max_version_level
    return 0


def _quorum_json(check: LiftCheck) -> dict[str, Any] | None:  # Any: JSON values
    quorum = check.observation.quorum
    if quorum is None:
        return None
    return {
        "leader_id": quorum.leader_id,
        "leader_epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "kraft_version": _kraft_version(check.observation, check.logs),
        "voters": [
            {
                "node_id": voter,
                "directory_id": None
                if (directory_id := quorum.voter_directory_ids.get(voter, ZERO_UUID)) == ZERO_UUID
                else uuid_text(directory_id),
                "endpoint": str(quorum.voter_endpoints[voter]) if voter in quorum.voter_endpoints else None,
                "log_end_offset": end,
            }
            for voter, end in sorted(quorum.voters.items())
        ],
        "observers": sorted(quorum.observers),
    }


def _nodes_json(seen: Observation) -> Iterator[dict[str, Any]]:  # Any: JSON values
    brokers = {node.node_id: node for node in seen.brokers}
    controllers = {node.node_id: node for node in seen.controllers}
    bootstrap = set(seen.bootstrap)
    for node_id in sorted({*brokers, *controllers, *seen.answers}):
        node = brokers.get(node_id) or controllers.get(node_id)
        answer = seen.answers.get(node_id)
        levels = answer.supported_features.get(METADATA_VERSION) if isinstance(answer, NodeVersions) else None
        yield {
            "node_id": node_id,
            "broker": node_id in brokers,
            "controller": node_id in controllers or (seen.quorum is not None and node_id in seen.quorum.voters),
            "endpoint": None if node is None else str(node.endpoint),
            "at_bootstrap": node is not None and node.endpoint in bootstrap,
            "fenced": node_id in brokers and brokers[node_id].is_fenced,
            "answers": isinstance(answer, NodeVersions),
            "metadata_version": None if levels is None else [levels.lowest, levels.highest],
        }
