"""A local cluster on disk: a directory for each node, and a file that says what they are together.

DIR/cluster.json            release, cluster id, nodes, ports
DIR/node-1/server.properties
DIR/node-1/data/            its log directory
DIR/node-1/server.log       what it logs, if it is a process of its own
"""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.config.server_properties import read_server_properties
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.uuid import random_uuid, uuid_text
from falkirk.server.errors import ServerError
from falkirk.storage.formatting.errors import FormatterError
from falkirk.storage.formatting.formatter import FormatRequest, format_storage
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.properties_file import format_property, parse_properties
from falkirk.versions.configs.server import definitions
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from falkirk.node.config.node_config import NodeConfig
    from falkirk.node.config.server_properties import ServerProperties
    from falkirk.protocol.chance import Chance

HOST: Final = "127.0.0.1"
MANIFEST: Final = "cluster.json"
PROPERTIES: Final = "server.properties"
_MANIFEST_VERSION: Final = 1


class NodeLayout(msgspec.Struct, frozen=True, kw_only=True):
    """One node, with a port for each of its roles."""

    node_id: int
    broker_port: int | None = None
    controller_port: int | None = None

    @property
    def roles(self) -> tuple[str, ...]:
        """The node's roles, in the words of process.roles."""
        given = ((BROKER, self.broker_port), (CONTROLLER, self.controller_port))
        return tuple(role for role, port in given if port is not None)


class ClusterLayout(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes, by ascending id."""

    release: str
    cluster_id: str
    nodes: tuple[NodeLayout, ...]
    version: int = _MANIFEST_VERSION

    @property
    def brokers(self) -> tuple[NodeLayout, ...]:
        """The nodes that serve clients."""
        return tuple(node for node in self.nodes if node.broker_port is not None)

    @property
    def controllers(self) -> tuple[NodeLayout, ...]:
        """The voters of the quorum."""
        return tuple(node for node in self.nodes if node.controller_port is not None)

    @property
    def is_combined(self) -> bool:
        """True if every node has both roles."""
        return len(self.brokers) == len(self.controllers) == len(self.nodes)

    @property
    def bootstrap_servers(self) -> tuple[Endpoint, ...]:
        """The endpoints for clients."""
        return tuple(Endpoint(HOST, node.broker_port) for node in self.brokers if node.broker_port is not None)


def new_layout(release: Release, *, brokers: int, controllers: int | None, random: Chance) -> ClusterLayout:
    """Return a layout without ports. `controllers`: how many beside the brokers; None: all nodes are both."""
    nodes = [
        NodeLayout(node_id=node_id, broker_port=0, controller_port=0 if controllers is None else None)
        for node_id in range(1, brokers + 1)
    ]
    nodes += [NodeLayout(node_id=brokers + number, controller_port=0) for number in range(1, (controllers or 0) + 1)]
    return ClusterLayout(release=release.name, cluster_id=uuid_text(random_uuid(random)), nodes=tuple(nodes))


def read_layout(directory: Path) -> ClusterLayout | None:
    """Read a directory's layout; None if the directory is empty. Raises ServerError if it has something else."""
    file = directory / MANIFEST
    if not file.exists():
        if directory.exists() and any(directory.iterdir()):
            raise ServerError(f"{directory} holds no cluster of ours (no {MANIFEST}), and is not empty")
        return None
    try:
        layout = msgspec.json.decode(file.read_bytes(), type=ClusterLayout)
    except msgspec.DecodeError as error:
        raise ServerError(f"{file} cannot be read: {error}") from error
    if layout.version != _MANIFEST_VERSION:
        raise ServerError(f"{file} is of version {layout.version}, this falkirk knows {_MANIFEST_VERSION}")
    return layout


def with_ports(layout: ClusterLayout, first_port: int | None) -> ClusterLayout:
    """Assign ports: from `first_port` on, else those that the nodes had if they are free, else any.

    Brokers come first. Raises ServerError if requested ports are in use.
    """
    had = [node.broker_port for node in layout.brokers] + [node.controller_port for node in layout.controllers]
    wanted = [port or 0 for port in had] if first_port is None else list(range(first_port, first_port + len(had)))
    ports = iter(_free_ports(wanted, is_strict=first_port is not None))
    broker_ports = {node.node_id: next(ports) for node in layout.brokers}
    controller_ports = {node.node_id: next(ports) for node in layout.controllers}
    return msgspec.structs.replace(
        layout,
        nodes=tuple(
            NodeLayout(
                node_id=node.node_id,
                broker_port=broker_ports.get(node.node_id),
                controller_port=controller_ports.get(node.node_id),
            )
            for node in layout.nodes
        ),
    )


def write_cluster(
    directory: Path, layout: ClusterLayout, overrides: Mapping[str, str], *, random: Chance, now_ms: int
) -> None:
    """Write each node's configuration, format what is not formatted yet, and write the layout last.

    Raises ServerError, ConfigError and OSError.
    """
    release = Release.parse(layout.release)
    for node in layout.nodes:
        home = node_home(directory, node)
        home.mkdir(parents=True, exist_ok=True)
        properties = _properties(directory, layout, node, release) | dict(overrides)
        (home / PROPERTIES).write_bytes(b"".join(format_property(*item) for item in properties.items()))
        config = node_properties(directory, layout, node).config
        disk = PosixDisk()
        if not all(disk.exists(f"{log_dir}/meta.properties") for log_dir in config.log_dirs):
            try:
                format_storage(_format_request(layout, config), disk, random, now_ms)
            except FormatterError as error:
                raise ServerError(str(error)) from error
    written = directory / f"{MANIFEST}.tmp"
    written.write_bytes(msgspec.json.format(msgspec.json.encode(layout), indent=2))
    written.replace(directory / MANIFEST)


def node_home(directory: Path, node: NodeLayout) -> Path:
    """Return the directory of a node."""
    return directory / f"node-{node.node_id}"


def node_properties(directory: Path, layout: ClusterLayout, node: NodeLayout) -> ServerProperties:
    """Read a node's configuration, as it was written. Raises ConfigError."""
    file = node_home(directory, node) / PROPERTIES
    properties = parse_properties(file.read_bytes(), file=str(file)).as_dict()
    return read_server_properties(properties, Release.parse(layout.release), hostname=HOST)


def _properties(directory: Path, layout: ClusterLayout, node: NodeLayout, release: Release) -> dict[str, str]:
    listeners = {"PLAINTEXT": node.broker_port, "CONTROLLER": node.controller_port}
    voters = (f"{voter.node_id}@{HOST}:{voter.controller_port}" for voter in layout.controllers)
    properties = {
        "process.roles": ",".join(node.roles),
        "node.id": str(node.node_id),
        "listeners": ",".join(f"{name}://{HOST}:{port}" for name, port in listeners.items() if port is not None),
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "controller.quorum.voters": ",".join(voters),
        "log.dirs": str(node_home(directory, node) / "data"),
    }
    if node.broker_port is None:
        # A node that is only a controller has no inter-broker listener.
        del properties["inter.broker.listener.name"]
    return properties | _replication(len(layout.brokers), release)


def _replication(brokers: int, release: Release) -> dict[str, str]:
    """Return as many replicas for coordinators' topics as there can be: Kafka's default is three."""
    known = definitions(release)
    prefixes = ("offsets.topic.", "transaction.state.log.", "share.coordinator.state.topic.")
    values = {"replication.factor": min(3, brokers), "min.isr": min(2, brokers)}
    keys = {prefix + name: str(value) for prefix in prefixes for name, value in values.items()}
    return {key: value for key, value in keys.items() if key in known}


def _format_request(layout: ClusterLayout, config: NodeConfig) -> FormatRequest:
    controllers = [listener.advertised for listener in config.listeners if listener.is_controller]
    return FormatRequest(
        release=config.release,
        cluster_id=layout.cluster_id,
        node_id=config.node_id,
        log_dirs=config.log_dirs,
        metadata_log_dir=config.metadata_log_dir,
        is_controller=config.is_controller,
        controller_listener_name=config.controller_listener_names[0],
        controller_endpoint=controllers[0] if controllers else None,
        has_static_voters=True,
        ignore_formatted=True,
    )


def _free_ports(wanted: Sequence[int], *, is_strict: bool) -> list[int]:
    """Return free ports: these (0: any), or any in the place of those in use."""
    with ExitStack() as sockets:
        return [sockets.enter_context(_bound(port, is_strict=is_strict)).getsockname()[1] for port in wanted]


def _bound(port: int, *, is_strict: bool) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
    except OSError as error:
        if is_strict:
            made.close()
            raise ServerError(f"{HOST}:{port}: {error.strerror}") from error
        made.bind((HOST, 0))
    return made
