"""The brokers as clients of one listener see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.metadata.image.partition import LOST, MIGRATING, UNASSIGNED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.metadata.image.partition import Partition
    from falkirk.protocol.chance import Chance

NO_NODE: Final = -1
_CACHED_MAX: Final = 16
# Holds the image, too, so that no other object can have its identity.
_CACHE: Final[dict[tuple[int, str], tuple[ClusterImage, BrokerEndpoints]]] = {}


class BrokerEndpoint(NamedTuple):
    """The address of a broker on one listener."""

    broker_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool


class BrokerEndpoints:
    """The registered brokers that have a listener of this name, sorted by id."""

    def __init__(self, cluster: ClusterImage, listener: str) -> None:
        self._cluster = cluster
        self._alive_ids = tuple(broker_id for broker_id, broker in sorted(cluster.brokers.items()) if not broker.fenced)
        self.all = tuple(
            BrokerEndpoint(broker_id, point.host, point.port, broker.rack, broker.fenced)
            for broker_id, broker in sorted(cluster.brokers.items())
            for point in broker.end_points
            if point.name == listener
        )
        self.alive = tuple(endpoint for endpoint in self.all if not endpoint.is_fenced)
        # Fenced ones too: a leader that is just being fenced is still the leader.
        self.reachable = frozenset(endpoint.broker_id for endpoint in self.all)
        self._registrations: Mapping[int, BrokerRegistration] = {
            endpoint.broker_id: cluster.brokers[endpoint.broker_id] for endpoint in self.alive
        }

    def is_registered(self, broker_id: int) -> bool:
        """Return whether the broker is registered, with any listeners."""
        return broker_id in self._cluster.brokers

    def alive_replicas(self, replicas: tuple[int, ...]) -> tuple[int, ...]:
        """Return those of them that clients can reach."""
        return tuple(replica for replica in replicas if replica in self._registrations)

    def offline_replicas(self, partition: Partition) -> tuple[int, ...]:
        """Return the replicas that clients cannot reach, or whose log directory is offline."""
        registrations = self._registrations
        offline = []
        for replica, directory in zip(partition.replicas, partition.directories, strict=True):
            broker = registrations.get(replica)
            if broker is None or not _is_online(directory, broker.log_dirs):
                offline.append(replica)
        return tuple(offline)

    def random_alive(self, random: Chance) -> int:
        """Return a random alive broker, which forwards requests for the controller (KIP-590); -1 if none is alive.

        As in Kafka it may lack the listener.
        """
        return random.choice(self._alive_ids) if self._alive_ids else NO_NODE


def broker_endpoints(cluster: ClusterImage, listener: str) -> BrokerEndpoints:
    """Return the brokers of an image; kept for the last images and listeners."""
    key = id(cluster), listener
    cached = _CACHE.get(key)
    if cached is None:
        if len(_CACHE) >= _CACHED_MAX:
            _CACHE.clear()
        cached = _CACHE[key] = (cluster, BrokerEndpoints(cluster, listener))
    return cached[1]


def _is_online(directory: bytes, online: tuple[bytes, ...]) -> bool:
    """Return whether a replica's directory is online; always if the broker has not registered any (KIP-858)."""
    if directory in online:
        return True
    return directory in {UNASSIGNED, MIGRATING} or (not online and directory != LOST)
