"""One KRaft node from its configuration to its end: sockets, locks, the node."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from falkirk.node.errors import StartupError
from falkirk.server import listening
from falkirk.server.clock import Clock
from falkirk.server.errors import ServerError
from falkirk.server.listener_tls import ListenerTls
from falkirk.server.log_dir_locks import LogDirLocks
from falkirk.server.metrics_listener import bind_metrics, shown_address
from falkirk.server.node_driver import DrivenNode
from falkirk.server.opened_node import OpenedNode
from falkirk.server.startup_checks import check_is_served, security_settings
from falkirk.storage.meta_properties import FILE_NAME
from falkirk.storage.posix_disk import PosixDisk

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from falkirk.node.config import NodeConfig
    from falkirk.node.measurements import Measurements
    from falkirk.node.server_properties import ServerProperties
    from falkirk.server.fact_log import FactLog
    from falkirk.server.request_log import RequestLog


class MeasuredNode(DrivenNode, Protocol):
    """What is served: it can be watched."""

    def measure(self) -> Measurements:
        """Give what it is at this moment, in numbers."""
        ...


class MakeNode(Protocol):
    """Opens a node's directories. Raises StartupError if they are not as they must be."""

    def __call__(self, config: NodeConfig, now_ms: int) -> MeasuredNode:
        """Make the node."""
        ...


@contextmanager
def opened(
    properties: ServerProperties, make_node: MakeNode, log: FactLog, *, request_log: RequestLog | None = None
) -> Iterator[OpenedNode[NodeConfig]]:
    """Open a node: sockets, locks, directories. Raises ServerError: then its directories are as they were."""
    config = replace(properties.config, security=security_settings(properties))
    check_is_served(config)
    tls = ListenerTls.of(properties, met=(config.controller_listener_names[0], config.inter_broker_listener_name))
    sockets = listening.bind(config.listeners)
    locks = LogDirLocks()
    metrics: socket.socket | None = None
    try:
        if config.metrics_listener is not None:
            metrics = bind_metrics(config.metrics_listener)
        bound = replace(
            config,
            listeners=tuple(one.listener for one in sockets),
            metrics_listener=None if metrics is None else shown_address(metrics),
            has_request_facts=request_log is not None,
        )
        _lock(locks, bound)
        clock = Clock()
        try:
            node = make_node(bound, clock.now_ms())
        except BaseException as error:
            locks.release(remove_new=True)
            if isinstance(error, StartupError):
                raise ServerError(str(error)) from error
            raise
        yield OpenedNode(
            node=node,
            name=f"KafkaRaftServer nodeId={config.node_id}",
            values=properties.values,
            config=bound,
            sockets=sockets,
            clock=clock,
            log=log,
            request_log=request_log,
            tls=tls,
            metrics=None if metrics is None else (metrics, node.measure),
        )
    finally:
        locks.release()
        listening.close(sockets)
        if metrics is not None:
            metrics.close()


def _lock(locks: LogDirLocks, config: NodeConfig) -> None:
    """Lock the directories that are formatted: one that is not stays untouched, and the node will refuse it."""
    disk = PosixDisk()
    log_dirs = {*config.log_dirs, config.metadata_log_dir}
    locks.acquire(log_dir for log_dir in log_dirs if disk.exists(f"{log_dir}/{FILE_NAME}"))
