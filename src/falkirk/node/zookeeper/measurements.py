"""What a broker on ZooKeeper is at this moment, in the numbers of `falkirk.node.measurements`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.broker_lifecycle import BrokerState
from falkirk.node.measurements import Measurements

if TYPE_CHECKING:
    from falkirk.node.client_connections import ClientConnections
    from falkirk.node.zookeeper.cluster_membership import ClusterMembership
    from falkirk.node.zookeeper.handlers.zookeeper_view import ZooKeeperView

_NO_LOG: Final = -1


def measure(membership: ClusterMembership, clients: ClientConnections, view: ZooKeeperView) -> Measurements:
    """Look at a node. There is no metadata log; who leads is the controller, in its own epoch if this is it."""
    election = membership.role.election
    return Measurements(
        leader_id=view.controller_id,
        leader_epoch=-1 if election is None else election.epoch,
        is_active_controller=election is not None,
        high_watermark=_NO_LOG,
        log_end_offset=_NO_LOG,
        last_applied_offset=_NO_LOG,
        metadata_version=-1,
        finalized_features={name: levels.max_level for name, levels in view.finalized.items()},
        supported_features=view.supported_features,
        connections=clients.by_software(),
        connection_counters=clients.counters,
        api_uses=tuple(clients.api_uses),
        brokers=None if election is None else (len(view.brokers), 0),
        broker_state=(BrokerState.RUNNING if membership.is_joined else BrokerState.STARTING).value,
        partitions=None,
        groups=None,
    )
