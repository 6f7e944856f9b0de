"""Reads what a cluster of Kafka brokers has in ZooKeeper, and changes nothing. Needs the extra `zookeeper` (kazoo)."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError, WriterNotClosedException
from kazoo.handlers.threading import KazooTimeoutError

from falkirk.cli.failure import CommandFailedError
from falkirk.metadata.zookeeper.broker_znode import BROKER_IDS_PATH, broker_path, decode_broker
from falkirk.metadata.zookeeper.cluster_id_znode import CLUSTER_ID_PATH, decode_cluster_id
from falkirk.metadata.zookeeper.controller_znode import CONTROLLER_PATH, decode_controller
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.features_znode import decode_features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from falkirk.metadata.zookeeper.broker_znode import BrokerZnode
    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.node.zookeeper.connect_string import ConnectString

    T = TypeVar("T")

TIMEOUT_S: Final = 5.0
"""How long ZooKeeper may take to connect, and for each answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperState:
    """What was found. A znode that is not there is None; one that cannot be meant is told in `faults`."""

    connect: str  # as zookeeper.connect has it
    features_path: str | None
    features_epoch: int | None  # the version of that znode
    features: FeatureState | None
    cluster_id: str | None
    controller_id: int | None
    brokers: Mapping[int, BrokerZnode]
    faults: tuple[str, ...]


def read_zookeeper_state(connect: ConnectString, features_paths: Sequence[str]) -> ZooKeeperState:
    """Read the first of `features_paths` that is there, and who is in the cluster.

    Raises CommandFailedError (nothing is there, or ZooKeeper does not answer), and ZnodeError for the features: without
    them there is nothing to say.
    """
    with _connected(",".join(connect.servers)) as client:
        reader = _Reader(client, connect.chroot)
        path, found = next(
            ((path, found) for path in features_paths if (found := reader.read(path)) is not None), (None, None)
        )
        broker_ids = reader.names(BROKER_IDS_PATH)
        if found is None and broker_ids is None:
            raise CommandFailedError(f"ZooKeeper {connect}: no Kafka is there: {_named(features_paths)}")
        return ZooKeeperState(
            connect=str(connect),
            features_path=path,
            features_epoch=None if found is None else found[1],
            features=None if path is None or found is None else decode_features(found[0], path),
            cluster_id=reader.meant(CLUSTER_ID_PATH, decode_cluster_id),
            controller_id=reader.meant(CONTROLLER_PATH, decode_controller),
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
        """Give data and version of a znode, None if it is not there."""
        try:
            data, stat = self._client.get_async(self._chroot + path).get(timeout=TIMEOUT_S)
        except NoNodeError:
            return None
        return data or b"", stat.version  # kazoo gives None for a znode without data

    def names(self, path: str) -> list[str] | None:
        """Give what stands below a znode, None if it is not there."""
        try:
            found: list[str] = self._client.get_children_async(self._chroot + path).get(timeout=TIMEOUT_S)
        except NoNodeError:
            return None
        return found

    def meant(self, path: str, decode: Callable[[bytes, str], T]) -> T | None:
        """Give what a znode means, None if it is not there or means nothing."""
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
        znode = reader.meant(broker_path(broker_id), decode_broker)
        if znode is not None:
            found[broker_id] = znode
    return found


@contextmanager
def _connected(hosts: str) -> Iterator[KazooClient]:
    """Keep one session; it is closed before this is over, so that nothing of it stays in ZooKeeper."""
    # Kazoo tells of each try to connect; the one line at the end says it all.
    silent = logging.getLogger(__name__)
    silent.disabled = True
    client = KazooClient(hosts, timeout=TIMEOUT_S, read_only=True, logger=silent)
    try:
        client.start(timeout=TIMEOUT_S)
        yield client
    except (KazooTimeoutError, WriterNotClosedException):
        raise CommandFailedError(f"ZooKeeper {hosts} does not answer within {TIMEOUT_S:g} s") from None
    except KazooException as error:
        raise CommandFailedError(f"ZooKeeper {hosts}: {type(error).__name__}{_words(error)}") from error
    finally:
        # A thread that waits for a server that hangs ends with this process.
        with suppress(WriterNotClosedException):
            client.stop()
            client.close()


def _named(paths: Sequence[str]) -> str:
    return f"neither {' nor '.join((*paths, BROKER_IDS_PATH))}"


def _words(error: KazooException) -> str:
    return f" ({error})" if str(error) else ""


_ID = re.compile(r"[0-9]{1,9}")
