"""`falkirk features`: what kafka-features does."""

import typer

from falkirk.cli.kafka_tool import Tool
from falkirk.cli.options import (
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

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


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


# kafka-features takes a connection for every command. These two need none: they ask the tables, not a cluster.


@app.command("version-mapping", context_settings=REFUSES_LEFTOVERS)
def version_mapping(
    context: typer.Context,
    *,
    release_version: ReleaseVersionOption = None,
    release: AnswerAsReleaseOption = None,
    json: JsonOption = False,
    bootstrap_server: BootstrapServerOption = None,  # noqa: ARG001 - see above
    bootstrap_controller: BootstrapControllerOption = None,  # noqa: ARG001 - see above
    command_config: CommandConfigOption = None,  # noqa: ARG001 - see above
) -> None:
    """Print a new cluster's feature levels.

    They depend on the metadata.version at which the cluster is formatted.
    """
    answer_version_mapping(Tool.FEATURES, release, release_version, context.args, json=json)


@app.command("feature-dependencies", context_settings=REFUSES_LEFTOVERS)
def feature_dependencies(
    context: typer.Context,
    *,
    feature: FeatureOption = None,
    release: AnswerAsReleaseOption = None,
    json: JsonOption = False,
    bootstrap_server: BootstrapServerOption = None,  # noqa: ARG001 - see above
    bootstrap_controller: BootstrapControllerOption = None,  # noqa: ARG001 - see above
    command_config: CommandConfigOption = None,  # noqa: ARG001 - see above
) -> None:
    """Print what other features a level needs.

    Several levels are looked up in order, up to the first that does not exist.
    """
    answer_feature_dependencies(Tool.FEATURES, release, feature, context.args, json=json)
