"""The quorum of a cluster as kafka-metadata-quorum describes it, with kraft.version and ghost registrations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.client.admin import EndpointType
from falkirk.operations.errors import OperationError
from falkirk.operations.ghosts import find_ghosts
from falkirk.versions.features import KRAFT_VERSION

if TYPE_CHECKING:
    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.quorum_description import QuorumDescription, ReplicaState
    from falkirk.operations.ghosts import Ghost


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumStatus:
    """`ghosts`: brokers or controllers, as the bootstrap servers are; brokers before 4.0 list no fenced ones."""

    cluster_id: str | None
    kraft_version: int
    quorum: QuorumDescription
    ghosts: tuple[Ghost, ...]

    @property
    def leader(self) -> ReplicaState:
        """The leader's state. Raises OperationError while it is not among the replicas."""
        quorum = self.quorum
        for each in (*quorum.voter_states, *quorum.observer_states):
            if each.node_id == quorum.leader_id:
                return each
        raise OperationError(f"the leader {quorum.leader_id} is neither voter nor observer: ask again in a moment")

    @property
    def slowest_voter(self) -> ReplicaState:
        """The first voter with the lowest log end offset."""
        return min(self.quorum.voter_states, key=lambda each: each.log_end_offset)

    @property
    def max_follower_lag(self) -> int:
        """How many offsets the slowest voter is behind the leader."""
        return self.leader.log_end_offset - self.slowest_voter.log_end_offset

    @property
    def max_follower_lag_time_ms(self) -> int:
        """How long ago the slowest voter had caught up; -1 if that is not known."""
        leader, slowest = self.leader, self.slowest_voter
        if leader == slowest:
            return 0
        if leader.last_caught_up_timestamp is None or slowest.last_caught_up_timestamp is None:
            return -1
        return leader.last_caught_up_timestamp - slowest.last_caught_up_timestamp


async def quorum_status(admin: AsyncAdmin) -> QuorumStatus:
    """Return the status of the quorum. Raises ClientError."""
    quorum = await admin.describe_quorum()
    cluster = await admin.describe_cluster(include_fenced=True)
    finalized = (await admin.describe_features()).finalized_features.get(KRAFT_VERSION)
    if admin.endpoint_type is EndpointType.CONTROLLER:
        ghosts = find_ghosts(quorum, controllers=[node.node_id for node in cluster.nodes])
    else:
        ghosts = find_ghosts(quorum, fenced_brokers=[node.node_id for node in cluster.nodes if node.is_fenced])
    return QuorumStatus(
        cluster_id=cluster.cluster_id,
        kraft_version=0 if finalized is None else finalized.max_version_level,
        quorum=quorum,
        ghosts=ghosts,
    )
