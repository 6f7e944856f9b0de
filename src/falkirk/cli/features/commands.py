"""`falkirk features`: as kafka-features, with the commands of KIP-584 besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import typer
import typer.core

from falkirk.cli.console.connected_command import connected
from falkirk.cli.console.options import (  # Typer reads the annotations when it builds a command
    REFUSES_LEFTOVERS,
    AnswerAsReleaseOption,
    BootstrapControllerOption,
    BootstrapServerOption,
    CommandConfigOption,
    ConnectionOptions,
    FeatureOption,
    JsonOption,
    ReleaseVersionOption,
)
from falkirk.cli.features.export import export
from falkirk.cli.features.options import (  # Typer reads the annotations when it builds a command
    WAIT_DEFAULT_S,
    AbortTransactionsOption,
    AllowDowngradeOption,
    DeletionsOption,
    DisableOption,
    DowngradeIsAllowedOption,
    DowngradesOption,
    DryRunOption,
    ForcedSnapshotOption,
    Kip584Option,
    KnownLevelsOption,
    LevelsOption,
    MetadataOption,
    NodeIdOption,
    TargetReleaseOption,
    TimeoutOption,
    ToolReleaseOption,
    UnsafeOption,
    UpdateOption,
    UpgradesOption,
    WaitOption,
)
from falkirk.cli.release_tables import show_feature_dependencies, show_version_mapping

if TYPE_CHECKING:
    from collections.abc import Container

FLAGS: Final = {"--describe": "describe", "--upgrade-all": "upgrade-all", "--downgrade-all": "downgrade-all"}
"""The flags that the first kafka-features had in the place of commands, and the command of each. Source: KIP-584."""


class FlagFormsGroup(typer.core.TyperGroup):
    """A group whose command may be named by a flag, anywhere among the options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: Click's context, which Typer has a copy of
        """Parse the command line with the command in the place of its flag."""
        return super().parse_args(ctx, with_command_first(args, self.commands))


def with_command_first(words: list[str], commands: Container[str]) -> list[str]:
    """Put the command of a flag before all options; return words that name a command unchanged."""
    for at, word in enumerate(words):
        if word in commands:
            break
        if word in FLAGS:
            return [FLAGS[word], *words[:at], *words[at + 1 :]]
    return words


app = typer.Typer(
    cls=FlagFormsGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=f"The flags of KIP-584 are taken in the place of commands: {', '.join(FLAGS)}.",
)


@app.callback()
def features(
    context: typer.Context,
    *,
    bootstrap_server: BootstrapServerOption = None,
    bootstrap_controller: BootstrapControllerOption = None,
    command_config: CommandConfigOption = None,
) -> None:
    """Keep the connection options that precede the command, as kafka-features has them; commands have them as well."""
    context.obj = ConnectionOptions(
        bootstrap_server=bootstrap_server, bootstrap_controller=bootstrap_controller, command_config=command_config
    )


@app.command("describe", context_settings=REFUSES_LEFTOVERS)
@connected
def describe(
    context: typer.Context,
    *,
    node_id: NodeIdOption = None,
    kip_584: Kip584Option = False,
    release: ToolReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Print finalized and supported levels.

    Finalized levels are the cluster's, supported ones those of the node that answers.
    """
    from falkirk.cli.features.actions import run_describe  # noqa: PLC0415 - for commands that ask a cluster only

    run_describe(context, release, node_id, kip_584=kip_584, json=json)


@app.command("upgrade", context_settings=REFUSES_LEFTOVERS)
@connected
def upgrade(
    context: typer.Context,
    *,
    metadata: MetadataOption = None,
    release_version: LevelsOption = None,
    feature: UpdateOption = None,
    dry_run: DryRunOption = False,
    release: ToolReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Raise the levels of features."""
    from falkirk.cli.features.actions import ChangeOptions, run_change  # noqa: PLC0415 - same
    from falkirk.cli.features.updates import UpdateOptions  # noqa: PLC0415 - same

    requested = UpdateOptions(metadata=metadata, release_version=release_version, features=feature or ())
    run_change(context, release, requested, ChangeOptions(command="upgrade", is_dry_run=dry_run), json=json)


@app.command("downgrade", context_settings=REFUSES_LEFTOVERS)
@connected
def downgrade(
    context: typer.Context,
    *,
    metadata: MetadataOption = None,
    release_version: LevelsOption = None,
    feature: UpdateOption = None,
    unsafe: UnsafeOption = False,
    dry_run: DryRunOption = False,
    allow_forced_snapshot: ForcedSnapshotOption = False,
    abort_transactions: AbortTransactionsOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = WAIT_DEFAULT_S,
    release: ToolReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Lower the levels of features.

    Without --unsafe only if nothing is lost.
    """
    from falkirk.cli.features.actions import ChangeOptions, run_change  # noqa: PLC0415 - same
    from falkirk.cli.features.updates import UpdateOptions  # noqa: PLC0415 - same

    requested = UpdateOptions(metadata=metadata, release_version=release_version, features=feature or ())
    options = ChangeOptions(
        command="downgrade",
        is_unsafe=unsafe,
        is_dry_run=dry_run,
        forced_snapshot=allow_forced_snapshot,
        abort_transactions=abort_transactions,
        wait_s=timeout if wait else None,
    )
    run_change(context, release, requested, options, json=json)


@app.command("disable", context_settings=REFUSES_LEFTOVERS)
@connected
def disable(
    context: typer.Context,
    *,
    feature: DisableOption = None,
    unsafe: UnsafeOption = False,
    dry_run: DryRunOption = False,
    abort_transactions: AbortTransactionsOption = False,
    release: ToolReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Switch features off: their level becomes 0."""
    from falkirk.cli.features.actions import ChangeOptions, run_change  # noqa: PLC0415 - same
    from falkirk.cli.features.updates import UpdateOptions  # noqa: PLC0415 - same

    options = ChangeOptions(
        command="disable", is_unsafe=unsafe, is_dry_run=dry_run, abort_transactions=abort_transactions
    )
    run_change(context, release, UpdateOptions(features=feature or ()), options, json=json)


@app.command("upgrade-all", context_settings=REFUSES_LEFTOVERS)
@connected
def upgrade_all(
    context: typer.Context,
    *,
    dry_run: DryRunOption = False,
    release: TargetReleaseOption = None,
    levels: KnownLevelsOption = None,
    json: JsonOption = False,
) -> None:
    """Raise all features to a release's levels.

    None is lowered. What no release has goes up to what the node supports, where that is a broker on ZooKeeper.
    """
    from falkirk.cli.features.actions import ChangeOptions, run_change_all  # noqa: PLC0415 - same
    from falkirk.cli.features.kip_584_updates import parse_levels  # noqa: PLC0415 - same

    options = ChangeOptions(command="upgrade-all", is_dry_run=dry_run)
    run_change_all(context, release, parse_levels("--levels", levels or ()), options, json=json)


@app.command("downgrade-all", context_settings=REFUSES_LEFTOVERS)
@connected
def downgrade_all(
    context: typer.Context,
    *,
    unsafe: UnsafeOption = False,
    dry_run: DryRunOption = False,
    allow_forced_snapshot: ForcedSnapshotOption = False,
    abort_transactions: AbortTransactionsOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = WAIT_DEFAULT_S,
    release: TargetReleaseOption = None,
    levels: KnownLevelsOption = None,
    allow_downgrade: DowngradeIsAllowedOption = False,  # noqa: ARG001 - it says nothing new
    json: JsonOption = False,
) -> None:
    """Lower all features to a release's levels.

    None is raised. What neither the release nor --levels knows is deleted.
    """
    from falkirk.cli.features.actions import ChangeOptions, run_change_all  # noqa: PLC0415 - same
    from falkirk.cli.features.kip_584_updates import parse_levels  # noqa: PLC0415 - same

    options = ChangeOptions(
        command="downgrade-all",
        is_unsafe=unsafe,
        is_dry_run=dry_run,
        forced_snapshot=allow_forced_snapshot,
        abort_transactions=abort_transactions,
        wait_s=timeout if wait else None,
    )
    run_change_all(context, release, parse_levels("--levels", levels or ()), options, json=json)


@app.command("update", context_settings=REFUSES_LEFTOVERS)
@connected
def update(
    context: typer.Context,
    *,
    upgrade: UpgradesOption = None,
    downgrade: DowngradesOption = None,
    delete: DeletionsOption = None,
    allow_downgrade: AllowDowngradeOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Add, raise, lower and delete, in one request.

    As KIP-584 has it. Exit status: 1 if one is refused; on ZooKeeper and before 4.0 the others are done all the same.
    """
    from falkirk.cli.features.actions import run_update  # noqa: PLC0415 - same
    from falkirk.cli.features.kip_584_updates import parse_changes  # noqa: PLC0415 - same

    requested = parse_changes(upgrade or (), downgrade or (), delete or (), allow_downgrade=allow_downgrade)
    run_update(context, requested, is_dry_run=dry_run, json=json)


app.command("export", short_help="Say what a cluster on ZooKeeper is in KRaft.")(export)


# kafka-features takes a connection for every command. These two need none: they ask the tables, not a cluster.


@app.command("version-mapping", context_settings=REFUSES_LEFTOVERS)
@connected
def version_mapping(
    context: typer.Context,
    *,
    release_version: ReleaseVersionOption = None,
    release: AnswerAsReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Print a new cluster's feature levels.

    They depend on the metadata.version at which the cluster is formatted.
    """
    show_version_mapping(release, release_version, context.args, json=json)


@app.command("feature-dependencies", context_settings=REFUSES_LEFTOVERS)
@connected
def feature_dependencies(
    context: typer.Context,
    *,
    feature: FeatureOption = None,
    release: AnswerAsReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Print what other features a level needs.

    Several levels are looked up in order, up to the first that does not exist.
    """
    show_feature_dependencies(release, feature, context.args, json=json)
