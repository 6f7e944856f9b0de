"""Read a Kafka cluster on ZooKeeper, and map its features to levels of KRaft.

Changes nothing. Needs the extra `zookeeper` (kazoo).
"""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError, WriterNotClosedException
from kazoo.handlers.threading import KazooTimeoutError

from falkirk.metadata.zookeeper.broker_znode import BROKER_IDS_PATH, broker_path, decode_broker
from falkirk.metadata.zookeeper.cluster_id_znode import CLUSTER_ID_PATH, decode_cluster_id
from falkirk.metadata.zookeeper.controller_znode import CONTROLLER_PATH, decode_controller
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.features_znode import decode_features
from falkirk.metadata.zookeeper.finalized_features import DISABLED
from falkirk.metadata.zookeeper.kraft_levels import broker_obstacles, kraft_levels
from falkirk.operations.errors import InvalidInputError, OperationError
from falkirk.server.zookeeper_client import SecuredHandler, sasl_options, tls_context
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.inter_broker_protocol import parse
from falkirk.zookeeper_node.config.connect_string import is_znode_path, parse_connect_string
from falkirk.zookeeper_node.config.zookeeper_security import read_zookeeper_security

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from falkirk.metadata.zookeeper.broker_znode import BrokerZnode
    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.metadata.zookeeper.kraft_levels import KraftLevels
    from falkirk.zookeeper_node.config.connect_string import ConnectString

    T = TypeVar("T")

KIP_584_PATH: Final = "/features"
KAFKA_PATH: Final = "/feature"
TIMEOUT_S: Final = 5.0
"""Limit of connecting to ZooKeeper, and of each answer."""
_ID: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperState:
    """The decoded znodes. One that does not exist is None; one that does not decode has a sentence in `faults`."""

    connect: str  # as zookeeper.connect has it
    features_path: str | None
    features_epoch: int | None  # the version of that znode
    features: FeatureState | None
    cluster_id: str | None
    controller_id: int | None
    brokers: Mapping[int, BrokerZnode]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperExport:
    """A cluster on ZooKeeper as KRaft sees it. `obstacles`: sentences; empty if the cluster can move to KRaft."""

    state: ZooKeeperState
    levels: KraftLevels
    obstacles: tuple[str, ...]


def export_features(
    connect: str,
    *,
    path: str | None = None,
    inter_broker_protocol: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> ZooKeeperExport:
    """Read the features at `path` (None: /features, else Kafka's /feature) and map them to KRaft.

    `connect`: as zookeeper.connect has it; `inter_broker_protocol`: the brokers' version, as 3.9, where ibp-feature is
    not finalized; `properties`: zookeeper.ssl.* and SASL of a secured ZooKeeper, as a broker has them. Raises
    InvalidInputError for a bad `connect`, `path` or `properties`, OperationError if there is nothing to read,
    UnknownInterBrokerProtocolError, ZnodeError.
    """
    if path is not None and not is_znode_path(path):
        raise InvalidInputError(f"--path: {path} is not the path of a znode")
    try:
        address = parse_connect_string(connect, "--zookeeper")
        security = read_zookeeper_security(properties or {})
        tls = tls_context(security)
    except ConfigError as error:
        raise InvalidInputError(str(error)) from error
    protocol = None if inter_broker_protocol is None else parse(inter_broker_protocol)
    failures: list[KazooException] = []
    servers = ",".join(address.servers)
    client = KazooClient(
        servers,
        timeout=TIMEOUT_S,
        read_only=True,
        use_ssl=tls is not None,
        sasl_options=sasl_options(security),
        handler=SecuredHandler(tls, failures.append),
        logger=_silent(),
    )
    with _connected(client, servers, failures):
        state = read_zookeeper_state(client, address, (KIP_584_PATH, KAFKA_PATH) if path is None else (path,))
    if path is not None and state.features is None:
        raise OperationError(f"ZooKeeper {address}: there is no znode {path}")
    features = state.features or DISABLED
    levels = kraft_levels(features, ibp=protocol)
    obstacles = (*levels.obstacles, *broker_obstacles(features, state.brokers, levels), *state.faults)
    return ZooKeeperExport(state=state, levels=levels, obstacles=obstacles)


def read_zookeeper_state(client: KazooClient, connect: ConnectString, features_paths: Sequence[str]) -> ZooKeeperState:
    """Read the first of `features_paths` that exists, and the cluster's id, controller and brokers.

    Raises OperationError if there is no Kafka, ZnodeError if the features do not decode.
    """
    reader = _Reader(client, connect.chroot)
    path, found = next(
        ((path, found) for path in features_paths if (found := reader.read(path)) is not None), (None, None)
    )
    broker_ids = reader.children(BROKER_IDS_PATH)
    if found is None and broker_ids is None:
        raise OperationError(f"ZooKeeper {connect}: no Kafka is there: {_paths_text(features_paths)}")
    return ZooKeeperState(
        connect=str(connect),
        features_path=path,
        features_epoch=None if found is None else found[1],
        features=None if path is None or found is None else decode_features(found[0], path),
        cluster_id=reader.decoded(CLUSTER_ID_PATH, decode_cluster_id),
        controller_id=reader.decoded(CONTROLLER_PATH, decode_controller),
        brokers=_brokers(reader, broker_ids or []),
        faults=tuple(reader.faults),
    )


class _Reader:
    """Reads znodes below a chroot."""

    def __init__(self, client: KazooClient, chroot: str) -> None:
        self._client = client
        self._chroot = chroot
        self.faults: list[str] = []

    def read(self, path: str) -> tuple[bytes, int] | None:
        """Return data and version of a znode, None if it does not exist."""
        try:
            data, stat = self._client.get_async(self._chroot + path).get(timeout=TIMEOUT_S)
        except NoNodeError:
            return None
        return data or b"", stat.version  # kazoo gives None for a znode without data

    def children(self, path: str) -> list[str] | None:
        """Return the names of the children of a znode, None if it does not exist."""
        try:
            found: list[str] = self._client.get_children_async(self._chroot + path).get(timeout=TIMEOUT_S)
        except NoNodeError:
            return None
        return found

    def decoded(self, path: str, decode: Callable[[bytes, str], T]) -> T | None:
        """Return a decoded znode, None if it does not exist, or does not decode: then add a fault."""
        found = self.read(path)
        if found is None:
            return None
        try:
            return decode(found[0], path)
        except ZnodeError as error:
            self.faults.append(str(error))
            return None


def _brokers(reader: _Reader, names: list[str]) -> dict[int, BrokerZnode]:
    found = {}
    for broker_id in sorted(int(name) for name in names if _ID.fullmatch(name)):
        znode = reader.decoded(broker_path(broker_id), decode_broker)
        if znode is not None:
            found[broker_id] = znode
    return found


@contextmanager
def _connected(client: KazooClient, connect: str, failures: Sequence[KazooException]) -> Iterator[None]:
    """Open a session, and close it at the end, so that nothing of it stays in ZooKeeper.

    `failures`: what has ended kazoo's thread. Raises OperationError.
    """
    try:
        client.start(timeout=TIMEOUT_S)
        yield
    except (KazooTimeoutError, WriterNotClosedException):
        for failure in failures:
            raise OperationError(f"ZooKeeper {connect}: {type(failure).__name__}{_detail(failure)}") from failure
        raise OperationError(f"ZooKeeper {connect} does not answer within {TIMEOUT_S:g} s") from None
    except KazooException as error:
        raise OperationError(f"ZooKeeper {connect}: {type(error).__name__}{_detail(error)}") from error
    finally:
        # A thread that waits for a server that hangs ends with this process.
        with suppress(WriterNotClosedException):
            client.stop()
            client.close()


def _silent() -> logging.Logger:
    """Return a logger of nothing: kazoo logs each attempt to connect, and the error at the end says it all."""
    logger = logging.getLogger(__name__)
    logger.disabled = True
    return logger


def _paths_text(paths: Sequence[str]) -> str:
    return f"neither {' nor '.join((*paths, BROKER_IDS_PATH))}"


def _detail(error: KazooException) -> str:
    return f" ({error})" if str(error) else ""
