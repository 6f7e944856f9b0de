"""The replicas of the metadata log, as the active controller describes them (KIP-595, KIP-836, KIP-853)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.protocol.messages.describe_quorum_response import Node, PartitionData
    from falkirk.protocol.messages.describe_quorum_response import ReplicaState as WireReplicaState


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """One replica, as of its last fetch. Times in ms by the leader's clock; None: never, or not reported.

    `directory_id`: zero where it is unknown (kraft.version 0, servers before 3.9).
    """

    node_id: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_timestamp: int | None
    last_caught_up_timestamp: int | None

    @classmethod
    def of(cls, state: WireReplicaState) -> ReplicaState:
        """Convert a replica of the response."""
        fetched, caught_up = state.last_fetch_timestamp, state.last_caught_up_timestamp
        return cls(
            node_id=state.replica_id,
            directory_id=state.replica_directory_id,
            log_end_offset=state.log_end_offset,
            last_fetch_timestamp=None if fetched < 0 else fetched,
            last_caught_up_timestamp=None if caught_up < 0 else caught_up,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumDescription:
    """Leader, voters and observers, in the order of the response.

    `voter_listeners`: endpoints by listener name, of each voter whose listeners are known; servers before 3.9 report
    none.
    """

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voter_states: tuple[ReplicaState, ...]
    observer_states: tuple[ReplicaState, ...]
    voter_listeners: Mapping[int, Mapping[str, Endpoint]]

    @property
    def voters(self) -> Mapping[int, int]:
        """The log end offset of each voter, by node id."""
        return {each.node_id: each.log_end_offset for each in self.voter_states}

    @property
    def newest_observer_states(self) -> tuple[ReplicaState, ...]:
        """The state of each observer as of its last fetch, one for each node id.

        The leader remembers for minutes a replica that ended. A node that comes back with another directory id, or as
        a release before 3.9, which names none, is another one to it.
        """
        newest = sorted(self.observer_states, key=lambda each: each.last_fetch_timestamp or -1)
        return tuple({each.node_id: each for each in newest}.values())

    @property
    def observers(self) -> Mapping[int, int]:
        """The log end offset of each observer, by node id."""
        return {each.node_id: each.log_end_offset for each in self.newest_observer_states}

    @property
    def voter_endpoints(self) -> Mapping[int, Endpoint]:
        """The first listener of each voter, as far as it is known."""
        return {node_id: next(iter(listeners.values())) for node_id, listeners in self.voter_listeners.items()}

    @property
    def voter_directory_ids(self) -> Mapping[int, bytes]:
        """The directory id of each voter; zero where voters are static."""
        return {each.node_id: each.directory_id for each in self.voter_states}

    @classmethod
    def of(cls, partition: PartitionData, nodes: Iterable[Node]) -> QuorumDescription:
        """Convert a response without an error."""
        return cls(
            leader_id=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            high_watermark=partition.high_watermark,
            voter_states=tuple(map(ReplicaState.of, partition.current_voters)),
            observer_states=tuple(map(ReplicaState.of, partition.observers)),
            voter_listeners={
                node.node_id: {each.name: Endpoint(each.host, each.port) for each in node.listeners}
                for node in nodes
                if node.listeners
            },
        )
