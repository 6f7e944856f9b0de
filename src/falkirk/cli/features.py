"""`falkirk features`: what kafka-features does, and what KIP-584 has besides."""

from __future__ import annotations

import typer

from falkirk.cli.connected_command import connected
from falkirk.cli.feature_export import export
from falkirk.cli.feature_options import (  # Typer reads the annotations when it builds a command
    WAIT_DEFAULT_S,
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
from falkirk.cli.kafka_tool import Tool
from falkirk.cli.kip_584_flags import FLAGS, FlagFormsGroup
from falkirk.cli.options import (  # Typer reads the annotations when it builds a command
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
from falkirk.cli.version_questions import answer_feature_dependencies, answer_version_mapping

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
    """Take the connection where kafka-features takes it, before the command; commands take it as well."""
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

    Finalized levels are what a cluster has agreed on, supported ones what the node runs that was asked.
    """
    from falkirk.cli.feature_commands import answer_describe  # noqa: PLC0415 - for commands that ask a cluster only

    answer_describe(context, release, node_id, kip_584=kip_584, json=json)


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
    from falkirk.cli.feature_commands import ChangeOptions, answer_change  # noqa: PLC0415 - same
    from falkirk.cli.feature_updates import AskedUpdates  # noqa: PLC0415 - same

    asked = AskedUpdates(metadata=metadata, release_version=release_version, features=feature or ())
    answer_change(context, release, asked, ChangeOptions(command="upgrade", is_dry_run=dry_run), json=json)


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
    wait: WaitOption = False,
    timeout: TimeoutOption = WAIT_DEFAULT_S,
    release: ToolReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Lower the levels of features.

    Without --unsafe only if nothing is lost.
    """
    from falkirk.cli.feature_commands import ChangeOptions, answer_change  # noqa: PLC0415 - same
    from falkirk.cli.feature_updates import AskedUpdates  # noqa: PLC0415 - same

    asked = AskedUpdates(metadata=metadata, release_version=release_version, features=feature or ())
    options = ChangeOptions(
        command="downgrade",
        is_unsafe=unsafe,
        is_dry_run=dry_run,
        forced_snapshot=allow_forced_snapshot,
        wait_s=timeout if wait else None,
    )
    answer_change(context, release, asked, options, json=json)


@app.command("disable", context_settings=REFUSES_LEFTOVERS)
@connected
def disable(
    context: typer.Context,
    *,
    feature: DisableOption = None,
    unsafe: UnsafeOption = False,
    dry_run: DryRunOption = False,
    release: ToolReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Switch features off: their level becomes 0."""
    from falkirk.cli.feature_commands import ChangeOptions, answer_change  # noqa: PLC0415 - same
    from falkirk.cli.feature_updates import AskedUpdates  # noqa: PLC0415 - same

    options = ChangeOptions(command="disable", is_unsafe=unsafe, is_dry_run=dry_run)
    answer_change(context, release, AskedUpdates(features=feature or ()), options, json=json)


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
    from falkirk.cli.feature_commands import ChangeOptions, answer_change_all  # noqa: PLC0415 - same
    from falkirk.cli.kip_584_updates import parse_levels  # noqa: PLC0415 - same

    options = ChangeOptions(command="upgrade-all", is_dry_run=dry_run)
    answer_change_all(context, release, parse_levels("--levels", levels or ()), options, json=json)


@app.command("downgrade-all", context_settings=REFUSES_LEFTOVERS)
@connected
def downgrade_all(
    context: typer.Context,
    *,
    unsafe: UnsafeOption = False,
    dry_run: DryRunOption = False,
    allow_forced_snapshot: ForcedSnapshotOption = False,
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
    from falkirk.cli.feature_commands import ChangeOptions, answer_change_all  # noqa: PLC0415 - same
    from falkirk.cli.kip_584_updates import parse_levels  # noqa: PLC0415 - same

    options = ChangeOptions(
        command="downgrade-all",
        is_unsafe=unsafe,
        is_dry_run=dry_run,
        forced_snapshot=allow_forced_snapshot,
        wait_s=timeout if wait else None,
    )
    answer_change_all(context, release, parse_levels("--levels", levels or ()), options, json=json)


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
    from falkirk.cli.feature_commands import answer_update  # noqa: PLC0415 - same
    from falkirk.cli.kip_584_updates import parse_changes  # noqa: PLC0415 - same

    asked = parse_changes(upgrade or (), downgrade or (), delete or (), allow_downgrade=allow_downgrade)
    answer_update(context, asked, is_dry_run=dry_run, json=json)


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
    answer_version_mapping(Tool.FEATURES, release, release_version, context.args, json=json)


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
    answer_feature_dependencies(Tool.FEATURES, release, feature, context.args, json=json)
