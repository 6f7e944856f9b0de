"""How commands connect to a cluster: options before the command or after it, as Kafka's tools have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.cli.console.client_config import read_client_config
from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.config import parse_servers

if TYPE_CHECKING:
    from falkirk.cli.console.kafka_tool import KafkaTool
    from falkirk.cli.console.options import ConnectionOptions
    from falkirk.client.config import ClientConfig
    from falkirk.protocol.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """Bootstrap servers, and the properties of connections."""

    servers: tuple[Endpoint, ...]
    config: ClientConfig
    endpoint_type: EndpointType

    def admin(self) -> AsyncAdmin:
        """Return an Admin of these servers."""
        return AsyncAdmin(self.servers, self.config, endpoint_type=self.endpoint_type)


def cluster_connection(tool: KafkaTool, before: ConnectionOptions, after: ConnectionOptions) -> ClusterConnection:
    """Return the connection of the options before and after the command's name.

    Raises CommandFailedError for none or both kinds of servers, and for an option in both places; ClientConfigError,
    OSError for the file of --command-config.
    """
    server = _one(tool, "--bootstrap-server", before.bootstrap_server, after.bootstrap_server)
    controller = _one(tool, "--bootstrap-controller", before.bootstrap_controller, after.bootstrap_controller)
    file = _one(tool, "--command-config", before.command_config, after.command_config)
    if server is not None and controller is not None:
        raise tool.usage_error("--bootstrap-server and --bootstrap-controller exclude each other")
    text = server if server is not None else controller
    if text is None:
        raise tool.usage_error("name the nodes with --bootstrap-server or --bootstrap-controller")
    config = read_client_config(file)
    kind = EndpointType.CONTROLLER if server is None else EndpointType.BROKER
    return ClusterConnection(parse_servers(text), config, kind)


def _one(tool: KafkaTool, option: str, before: str | None, after: str | None) -> str | None:
    if before is not None and after is not None:
        raise tool.usage_error(f"{option} is given both before and after the command")
    return after if before is None else before
