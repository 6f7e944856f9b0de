"""The commands of `falkirk features` that ask a cluster."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from falkirk.cli.downgrade_wait import DowngradeWait, await_downgrade
from falkirk.cli.failure import CommandFailedError
from falkirk.cli.feature_changes import FeatureChanges, NothingToChange
from falkirk.cli.feature_connection import cluster_connection
from falkirk.cli.feature_description import FeatureDescription
from falkirk.cli.feature_updates import METADATA_IS_DEPRECATED, AskedUpdates, asked_deletions, asked_updates
from falkirk.cli.kafka_tool import features_tool, refuse_leftovers
from falkirk.cli.kip_584_description import Kip584Description
from falkirk.cli.kip_584_dry_run import UpdateOutcome, dry_run
from falkirk.cli.output import choose_output
from falkirk.cli.release_levels import known_levels
from falkirk.client.event_loop import run
from falkirk.client.feature_update import FeatureUpdate
from falkirk.protocol.upgrade_type import UpgradeType

if TYPE_CHECKING:
    from collections.abc import Mapping

    import typer

    from falkirk.cli.feature_connection import ClusterConnection
    from falkirk.cli.kafka_tool import KafkaTool
    from falkirk.cli.kip_584_updates import AskedChanges
    from falkirk.client.feature_metadata import FeatureMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions:
    """How to change. `wait_s`: how long to wait for all nodes afterwards; None: not at all."""

    command: str
    is_unsafe: bool = False
    is_dry_run: bool = False
    forced_snapshot: bool = False
    wait_s: float | None = None

    @property
    def upgrade_type(self) -> UpgradeType:
        """Give what is allowed."""
        if self.command.startswith("upgrade"):
            return UpgradeType.UPGRADE
        return UpgradeType.UNSAFE_DOWNGRADE if self.is_unsafe else UpgradeType.SAFE_DOWNGRADE


def answer_describe(
    context: typer.Context, release: str | None, node_id: int | None, *, kip_584: bool, json: bool
) -> None:
    """Print what a node tells of features, as kafka-features does or as KIP-584 has it."""
    tool = features_tool(release)
    if node_id is not None and not tool.wording.asks_one_node:
        raise tool.usage_error("describe", "unrecognized arguments: '--node-id'")
    cluster = _cluster(tool, context, "describe")
    if node_id is not None and node_id < 0:
        raise CommandFailedError(f"Invalid node id {node_id}: must be non-negative.")
    features = run(_describe(cluster, node_id))
    choose_output(json=json).show(Kip584Description(features) if kip_584 else FeatureDescription(tool, features))


def answer_change(
    context: typer.Context,
    release: str | None,
    asked: AskedUpdates,
    options: ChangeOptions,
    *,
    json: bool,
) -> None:
    """Make updates and print what came of each of them. Raises what the command ends with if any was refused."""
    tool = features_tool(release)
    if asked.release_version is not None and not tool.wording.maps_versions:
        raise tool.usage_error(options.command, "unrecognized arguments: '--release-version'")
    cluster = _cluster(tool, context, options.command)
    if asked.metadata is not None and asked.release_version is None and tool.wording.maps_versions and not json:
        print(METADATA_IS_DEPRECATED, flush=True)
    if options.command == "disable":
        updates = asked_deletions(asked.features, options.upgrade_type)
    else:
        updates = asked_updates(tool, asked, options.upgrade_type)
    if not updates:
        raise CommandFailedError(f"You must specify at least one feature to {options.command}")
    _change(cluster, updates, options, before=None, json=json)


def answer_change_all(
    context: typer.Context, release: str | None, told: Mapping[str, int], options: ChangeOptions, *, json: bool
) -> None:
    """Bring all features up or down to the levels of a release and those that are told. Raises as `answer_change`."""
    cluster = _cluster(features_tool(None), context, options.command)
    wanted = None if release is None else features_tool(release).release
    features = run(_newest(cluster))
    is_upgrade = options.upgrade_type is UpgradeType.UPGRADE
    known = known_levels(features, wanted, told, is_upgrade=is_upgrade)
    updates = known.updates(features, options.upgrade_type)
    before = _finalized_levels(features)
    if not updates:
        nothing = NothingToChange(command=options.command, of=known.of, is_dry_run=options.is_dry_run)
        # An earlier command may have been cut short while it waited.
        stay = {
            name: FeatureUpdate(max_version_level=level, upgrade_type=options.upgrade_type)
            for name, level in before.items()
        }
        _show(cluster, nothing, stay, options, json=json)
        return
    _change(cluster, updates, options, before=before, json=json)


def answer_update(context: typer.Context, asked: AskedChanges, *, is_dry_run: bool, json: bool) -> None:
    """Make the updates of KIP-584's `update`. Raises as `answer_change`."""
    options = ChangeOptions(command="update", is_dry_run=is_dry_run)
    cluster = _cluster(features_tool(None), context, options.command)
    before = _finalized_levels(run(_newest(cluster)))
    _change(cluster, asked.updates(before), options, before=before, json=json)


def _cluster(tool: KafkaTool, context: typer.Context, command: str) -> ClusterConnection:
    refuse_leftovers(tool, command, context.args)
    before, after = context.obj
    return cluster_connection(tool, before, after)


def _change(
    cluster: ClusterConnection,
    updates: Mapping[str, FeatureUpdate],
    options: ChangeOptions,
    *,
    before: Mapping[str, int] | None,
    json: bool,
) -> None:
    ended = run(_update(cluster, updates, options))
    changes = FeatureChanges(
        command=options.command,
        updates=updates,
        result=ended.result,
        is_dry_run=options.is_dry_run,
        before=before,
        note=ended.note,
    )
    if ended.note is not None:
        print(ended.note, file=sys.stderr, flush=True)
    _show(cluster, changes, updates, options, json=json)


def _show(
    cluster: ClusterConnection,
    changes: FeatureChanges | NothingToChange,
    updates: Mapping[str, FeatureUpdate],
    options: ChangeOptions,
    *,
    json: bool,
) -> None:
    """Print what came of a command, and wait for the nodes if that is asked for."""
    output = choose_output(json=json)
    if options.wait_s is None or options.is_dry_run or changes.failure is not None:
        output.show(changes)
        _end_with(changes.failure)
        return
    output.show_before_failure(changes)
    waited = run(_wait(cluster, updates, options.wait_s))
    output.show(replace(changes, waited=waited) if json else waited)
    _end_with(waited.failure)


def _finalized_levels(features: FeatureMetadata) -> dict[str, int]:
    return {name: levels.max_version_level for name, levels in features.finalized_features.items()}


def _end_with(failure: CommandFailedError | None) -> None:
    if failure is not None:
        raise failure


async def _describe(cluster: ClusterConnection, node_id: int | None) -> FeatureMetadata:
    async with cluster.admin() as admin:
        return await admin.describe_features(node_id)


async def _newest(cluster: ClusterConnection) -> FeatureMetadata:
    async with cluster.admin() as admin:
        return await admin.newest_features()


async def _update(
    cluster: ClusterConnection, updates: Mapping[str, FeatureUpdate], options: ChangeOptions
) -> UpdateOutcome:
    async with cluster.admin() as admin:
        if options.is_dry_run:
            return await dry_run(admin, updates, forced_snapshot=options.forced_snapshot)
        return UpdateOutcome(result=await admin.update_features(updates, forced_snapshot=options.forced_snapshot))


async def _wait(cluster: ClusterConnection, updates: Mapping[str, FeatureUpdate], timeout_s: float) -> DowngradeWait:
    async with cluster.admin() as admin:
        return await await_downgrade(admin, updates, timeout_s)
