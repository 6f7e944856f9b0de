"""The commands of `falkirk features` that connect to a cluster."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from falkirk.cli.console.cluster_connection import cluster_connection
from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.console.kafka_tool import kafka_tool
from falkirk.cli.console.output import choose_output
from falkirk.cli.console.terminal import print_text
from falkirk.cli.features.changes_view import FeatureChanges, NothingToChange
from falkirk.cli.features.description_view import FeatureDescription
from falkirk.cli.features.kip_584_description_view import Kip584Description
from falkirk.cli.features.updates import (
    METADATA_IS_DEPRECATED,
    UpdateOptions,
    requested_deletions,
    requested_updates,
)
from falkirk.cli.features.wait_view import WaitView
from falkirk.client.event_loop import run
from falkirk.client.feature_update import FeatureUpdate
from falkirk.operations.downgrade_wait import await_downgrade
from falkirk.operations.feature_changes import UpdateOutcome, update_features
from falkirk.operations.target_levels import target_levels
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.temporary_folder import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    import typer

    from falkirk.cli.console.cluster_connection import ClusterConnection
    from falkirk.cli.console.kafka_tool import KafkaTool
    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.operations.feature_changes import RequestedChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions:
    """The options of a change. `wait_s`: how long to wait for all nodes afterwards; None: not at all."""

    command: str
    is_unsafe: bool = False
    is_dry_run: bool = False
    forced_snapshot: bool = False
    abort_transactions: bool = False
    wait_s: float | None = None

    @property
    def upgrade_type(self) -> UpgradeType:
        """What the updates allow."""
        if self.command.startswith("upgrade"):
            return UpgradeType.UPGRADE
        return UpgradeType.UNSAFE_DOWNGRADE if self.is_unsafe else UpgradeType.SAFE_DOWNGRADE


def run_describe(
    context: typer.Context, release: str | None, node_id: int | None, *, kip_584: bool, json: bool
) -> None:
    """Print the features of a node, as kafka-features does or in KIP-584's table."""
    tool = kafka_tool(release)
    if node_id is not None and not tool.form.asks_one_node:
        raise tool.usage_error(f"Kafka {tool.release} has no --node-id: it came with 4.2")
    cluster = _cluster(tool, context)
    if node_id is not None and node_id < 0:
        raise CommandFailedError(f"Invalid node id {node_id}: must be non-negative.")
    features = run(_describe(cluster, node_id))
    choose_output(json=json).show(Kip584Description(features) if kip_584 else FeatureDescription(tool, features))


def run_change(
    context: typer.Context,
    release: str | None,
    requested: UpdateOptions,
    options: ChangeOptions,
    *,
    json: bool,
) -> None:
    """Make updates and print the outcome of each. Raises CommandFailedError if any was refused."""
    tool = kafka_tool(release)
    if requested.release_version is not None and not tool.form.maps_versions:
        raise tool.usage_error(f"Kafka {tool.release} has no --release-version: it came with 4.0")
    _check(tool, options)
    cluster = _cluster(tool, context)
    if requested.metadata is not None and requested.release_version is None and tool.form.maps_versions and not json:
        print_text(METADATA_IS_DEPRECATED)
        sys.stdout.flush()
    if options.command == "disable":
        updates = requested_deletions(requested.features, options.upgrade_type)
    else:
        updates = requested_updates(tool.release, requested, options.upgrade_type)
    if not updates:
        raise CommandFailedError(f"name at least one feature to {options.command}")
    _change(cluster, updates, options, before=None, json=json)


def run_change_all(
    context: typer.Context, release: str | None, named: Mapping[str, int], options: ChangeOptions, *, json: bool
) -> None:
    """Bring all features up or down to the levels of a release and to `named` ones. Raises as `run_change`."""
    _check(kafka_tool(None), options)
    cluster = _cluster(kafka_tool(None), context)
    wanted = None if release is None else kafka_tool(release).release
    features = run(_newest(cluster))
    is_upgrade = options.upgrade_type is UpgradeType.UPGRADE
    target = target_levels(features, wanted, named, is_upgrade=is_upgrade)
    updates = target.updates(features, options.upgrade_type)
    before = _finalized_levels(features)
    if not updates:
        nothing = NothingToChange(command=options.command, levels=target.source, is_dry_run=options.is_dry_run)
        # An earlier command may have been cut short while it waited.
        stay = {
            name: FeatureUpdate(max_version_level=level, upgrade_type=options.upgrade_type)
            for name, level in before.items()
        }
        _show(cluster, nothing, stay, options, json=json)
        return
    _change(cluster, updates, options, before=before, json=json)


def run_update(context: typer.Context, requested: RequestedChanges, *, is_dry_run: bool, json: bool) -> None:
    """Make the updates of KIP-584's `update`. Raises as `run_change`."""
    options = ChangeOptions(command="update", is_dry_run=is_dry_run)
    cluster = _cluster(kafka_tool(None), context)
    before = _finalized_levels(run(_newest(cluster)))
    _change(cluster, requested.updates(before), options, before=before, json=json)


def _check(tool: KafkaTool, options: ChangeOptions) -> None:
    if options.abort_transactions and not options.is_unsafe:
        raise tool.usage_error("--abort-transactions needs --unsafe: without it nothing is lowered that is in use")


def _cluster(tool: KafkaTool, context: typer.Context) -> ClusterConnection:
    tool.refuse_leftovers(context.args)
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
    outcome = run(_update(cluster, updates, options))
    changes = FeatureChanges(command=options.command, outcome=outcome, is_dry_run=options.is_dry_run, before=before)
    if outcome.note is not None:
        print_text(outcome.note, sys.stderr)
    _show(cluster, changes, updates, options, json=json)


def _show(
    cluster: ClusterConnection,
    changes: FeatureChanges | NothingToChange,
    updates: Mapping[str, FeatureUpdate],
    options: ChangeOptions,
    *,
    json: bool,
) -> None:
    """Print the outcome, and wait for the nodes with --wait."""
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
        outcome = await update_features(
            admin,
            updates,
            is_dry_run=options.is_dry_run,
            forced_snapshot=options.forced_snapshot,
            abort_transactions=options.abort_transactions,
        )
        if not options.is_dry_run or not outcome.lacks_ledger:
            return outcome
        from falkirk.operations.refused_lowering import with_ledger  # noqa: PLC0415 - for real Kafka's controllers

        with temporary_folder("falkirk-ledger-") as folder:
            return await with_ledger(admin, outcome, folder)


async def _wait(cluster: ClusterConnection, updates: Mapping[str, FeatureUpdate], timeout_s: float) -> WaitView:
    async with cluster.admin() as admin:
        return WaitView(await await_downgrade(admin, updates, timeout_s))
