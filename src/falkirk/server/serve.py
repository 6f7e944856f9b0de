"""One KRaft node from its configuration to its end: sockets, locks, the node."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from falkirk.node.config.java_classes import missing_classes
from falkirk.node.config.server_properties import read_security_settings
from falkirk.node.errors import StartupError
from falkirk.server.clock import Clock
from falkirk.server.errors import ServerError
from falkirk.server.listener_tls import ListenerTls
from falkirk.server.log_dir_locks import LogDirLocks
from falkirk.server.node_sockets import node_sockets
from falkirk.server.opened_node import OpenedNode
from falkirk.storage.meta_properties import FILE_NAME
from falkirk.storage.posix_disk import PosixDisk
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.node.config.node_config import NodeConfig
    from falkirk.node.config.security_settings import SecuritySettings
    from falkirk.node.config.server_properties import ServerProperties
    from falkirk.server.fact_log import FactLog
    from falkirk.server.opened_node import MeasuredNode
    from falkirk.server.request_log import RequestLog


class MakeNode(Protocol):
    """Opens a node's directories. Raises StartupError if that is impossible."""

    def __call__(self, config: NodeConfig, now_ms: int) -> MeasuredNode:
        """Make the node."""
        ...


@contextmanager
def opened(
    properties: ServerProperties, make_node: MakeNode, log: FactLog, *, request_log: RequestLog | None = None
) -> Iterator[OpenedNode[NodeConfig]]:
    """Open a node: sockets, locks, directories. Raises ServerError: then its directories are as they were."""
    config = _with_absolute_log_dirs(replace(properties.config, security=_security_settings(properties)))
    _check_is_served(config)
    tls = ListenerTls.of(properties, met=(config.controller_listener_names[0], config.inter_broker_listener_name))
    locks = LogDirLocks()
    with node_sockets(config) as sockets:
        try:
            bound = replace(sockets.bound(config), has_request_facts=request_log is not None)
            _lock(locks, bound)
            clock = Clock()
            yield OpenedNode(
                node=_made(make_node, bound, clock, locks),
                name=f"KafkaRaftServer nodeId={config.node_id}",
                values=properties.values,
                config=bound,
                sockets=sockets,
                clock=clock,
                log=log,
                request_log=request_log,
                tls=tls,
            )
        finally:
            locks.release()


def _with_absolute_log_dirs(config: NodeConfig) -> NodeConfig:
    config = replace(config, working_directory=str(Path.cwd()))
    paths = tuple(dict.fromkeys(map(config.log_dir_path, config.log_dirs)))
    return replace(config, log_dirs=paths, metadata_log_dir=config.log_dir_path(config.metadata_log_dir))


def _made(make_node: MakeNode, config: NodeConfig, clock: Clock, locks: LogDirLocks) -> MeasuredNode:
    """Make the node; if it cannot be made leave the directories as they were."""
    try:
        return make_node(config, clock.now_ms())
    except BaseException as error:
        locks.release(remove_new=True)
        if isinstance(error, StartupError):
            raise ServerError(str(error)) from error
        raise


def _lock(locks: LogDirLocks, config: NodeConfig) -> None:
    """Lock the formatted directories: an unformatted one stays untouched, and the node will refuse it."""
    disk = PosixDisk()
    log_dirs = {*config.log_dirs, config.metadata_log_dir}
    locks.acquire(log_dir for log_dir in log_dirs if disk.exists(f"{log_dir}/{FILE_NAME}"))


def _check_is_served(config: NodeConfig) -> None:
    """Raise ServerError for plugins that falkirk lacks."""
    for key, name in missing_classes(config.properties):
        raise ServerError(f"{key}: falkirk has no {name}")


def _security_settings(properties: ServerProperties) -> SecuritySettings:
    """Return the security settings. Raises ServerError that names what is missing."""
    try:
        return read_security_settings(properties)
    except ConfigError as error:
        raise ServerError(str(error)) from error
