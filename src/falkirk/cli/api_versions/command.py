"""`falkirk api-versions`: as kafka-broker-api-versions, for controllers too, and with what clients can use."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import typer

from falkirk.cli.api_versions.view import ApiVersionsView
from falkirk.cli.console.client_config import read_client_config
from falkirk.cli.console.failure import CommandFailedError, WrongUsageError
from falkirk.cli.console.options import (
    BootstrapControllerOption,
    BootstrapServerOption,
    CommandConfigOption,
    JsonOption,
)
from falkirk.cli.console.output import choose_output
from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.cluster_description import ClusterDescription
from falkirk.client.config import ClientConfig, avoided_versions, parse_servers
from falkirk.client.errors import ClientError
from falkirk.client.event_loop import run
from falkirk.client.node_versions import NodeVersions
from falkirk.operations.api_usability import client_apis, missing_features, read_client_features
from falkirk.protocol.endpoint import Endpoint
from falkirk.versions.api_support import Listener

FeaturesFileOption = Annotated[
    str | None,
    typer.Option(
        "--features-file",
        metavar="FILE",
        help='Features of a client and the versions of APIs that they work with: {"name": {"Fetch": "4-11"}}.',
    ),
]
ClientReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--client-release",
        metavar="RELEASE",
        help="Tell what a Java client of this release (2.4 and later) can use; default: what falkirk can.",
    ),
]
AvoidOption = Annotated[
    str,
    typer.Option(
        "--avoid-api-versions",
        metavar="API:VERSIONS,...",
        help="Versions that are not to be used, as Fetch:12-13 (property avoid.api.versions).",
        show_default=False,
    ),
]


def command(
    *,
    bootstrap_server: BootstrapServerOption = None,
    bootstrap_controller: BootstrapControllerOption = None,
    command_config: CommandConfigOption = None,
    features_file: FeaturesFileOption = None,
    client_release: ClientReleaseOption = None,
    avoid_api_versions: AvoidOption = "",
    json: JsonOption = False,
) -> None:
    """Print the API versions of each node of a cluster, those that all nodes have in common, and their features.

    Works with every Apache Kafka since 0.10. If a node does not answer, its error is printed beside the other nodes,
    and the exit status is 1.
    """
    if (bootstrap_server is None) == (bootstrap_controller is None):
        raise WrongUsageError("name either --bootstrap-server or --bootstrap-controller")
    endpoint_type = EndpointType.BROKER if bootstrap_controller is None else EndpointType.CONTROLLER
    config = _config(command_config, avoid_api_versions)
    listener = Listener.BROKER if endpoint_type is EndpointType.BROKER else Listener.CONTROLLER
    client = client_apis(client_release, listener, config.avoided)
    features = None if features_file is None else read_client_features(features_file)
    cluster, versions = run(_ask(parse_servers(bootstrap_server or bootstrap_controller or ""), config, endpoint_type))
    view = ApiVersionsView(
        kind=endpoint_type.name.lower(),
        cluster=cluster,
        versions=versions,
        client=client,
        features=None if features is None else missing_features(features, versions, config.avoided),
    )
    choose_output(json=json).show(view)
    if view.failures:
        sys.stdout.flush()
        raise CommandFailedError("\n".join(map(str, view.failures)))


async def _ask(
    servers: Sequence[Endpoint], config: ClientConfig, endpoint_type: EndpointType
) -> tuple[ClusterDescription, Mapping[int, NodeVersions | ClientError]]:
    async with AsyncAdmin(servers, config, endpoint_type=endpoint_type) as admin:
        cluster = await admin.describe_cluster()
        return cluster, await admin.api_versions(cluster.nodes)


def _config(file: str | None, text: str) -> ClientConfig:
    config = read_client_config(file)
    avoided = avoided_versions(text)
    keys = config.avoided.keys() | avoided.keys()
    both = {key: config.avoided.get(key, frozenset()) | avoided.get(key, frozenset()) for key in keys}
    return replace(config, avoided=both)
