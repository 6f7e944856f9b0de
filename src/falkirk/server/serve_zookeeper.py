"""One broker on ZooKeeper from its configuration to its end: sockets, the node, its sessions. It has no directories."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from falkirk.server.clock import Clock
from falkirk.server.errors import ServerError
from falkirk.server.listener_tls import ListenerTls
from falkirk.server.node_sockets import node_sockets
from falkirk.server.opened_node import OpenedNode
from falkirk.versions.configs.definition import ConfigError
from falkirk.zookeeper_node.config.properties import read_security_settings
from falkirk.zookeeper_node.config.zookeeper_security import read_zookeeper_security

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.server.fact_log import FactLog
    from falkirk.server.opened_node import MeasuredNode
    from falkirk.server.request_log import RequestLog
    from falkirk.server.zookeeper_session import ZooKeeperSession
    from falkirk.zookeeper_node.config.properties import ZooKeeperProperties
    from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig
    from falkirk.zookeeper_node.config.zookeeper_security import ZooKeeperSecurity
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEvent


class MakeZooKeeperNode(Protocol):
    """Makes a node, which asks for its session in its first step."""

    def __call__(self, config: ZooKeeperNodeConfig, now_ms: int) -> MeasuredNode:
        """Make the node."""
        ...


@contextmanager
def opened_on_zookeeper(
    properties: ZooKeeperProperties,
    make_node: MakeZooKeeperNode,
    log: FactLog,
    *,
    request_log: RequestLog | None = None,
) -> Iterator[OpenedNode[ZooKeeperNodeConfig]]:
    """Open a node: its sockets. Raises ServerError."""
    session, check_tls = _session_class()
    config = properties.config
    try:
        config = replace(config, security=read_security_settings(properties))
        security = read_zookeeper_security(config.properties)
        # Read now: a file that is missing is no reason to fail later.
        check_tls(security)
    except ConfigError as error:
        raise ServerError(str(error)) from error
    tls = ListenerTls.of(properties)
    in_flight_max = properties.values["zookeeper.max.in.flight.requests"]
    assert isinstance(in_flight_max, int)
    with node_sockets(config) as sockets:
        bound = replace(sockets.bound(config), has_request_facts=request_log is not None)

        def open_zookeeper(tell: Callable[[ZooKeeperEvent], None]) -> ZooKeeperSession:
            return session(
                bound.zookeeper_connect,
                session_timeout_ms=bound.zookeeper_session_timeout_ms,
                in_flight_max=in_flight_max,
                tell=tell,
                log=log,
                security=security,
            )

        clock = Clock()
        yield OpenedNode(
            node=make_node(bound, clock.now_ms()),
            name=f"KafkaServer id={bound.node_id}",
            values=properties.values,
            config=bound,
            sockets=sockets,
            clock=clock,
            log=log,
            request_log=request_log,
            tls=tls,
            open_zookeeper=open_zookeeper,
        )


def _session_class() -> tuple[type[ZooKeeperSession], Callable[[ZooKeeperSecurity], object]]:
    """Load kazoo, which other nodes do not need."""
    try:
        from falkirk.server.zookeeper_client import tls_context  # noqa: PLC0415 - see above
        from falkirk.server.zookeeper_session import ZooKeeperSession  # noqa: PLC0415 - see above
    except ModuleNotFoundError as error:
        missing = (error.name or "kazoo").partition(".")[0]
        raise ServerError(
            f"{missing} is not installed: nodes on ZooKeeper need the extra `zookeeper` "
            "(pip install 'falkirk[zookeeper]')"
        ) from error
    return ZooKeeperSession, tls_context
