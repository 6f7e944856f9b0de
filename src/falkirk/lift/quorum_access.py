"""The quorum as its leader describes it, and changes of its voters, for a lift.

Any of the known controllers may lead, falkirk's own too, which is registered nowhere: each is asked until the leader
answers. Sources: DescribeQuorum (KIP-836, KIP-853), AddRaftVoter and RemoveRaftVoter (KIP-853).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.client.connection import NodeConnection
from falkirk.client.errors import ClientError, NodeRefusedError
from falkirk.lift.errors import NoLeaderError
from falkirk.lift.journal import OriginalVoter, VoterListener
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    add_raft_voter_request,
    describe_quorum_request,
)
from falkirk.versions.negotiation import UnsupportedApiError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.client.config import ClientConfig
    from falkirk.protocol.endpoint import Endpoint

_METADATA_TOPIC: Final = "__cluster_metadata"
_TIMEOUT_MS: Final = 5000
_CHANGE_TIMEOUT_MS: Final = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumView:
    """Voters with their listeners; log end offsets of voters and observers as of their last fetch, by node id."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: Mapping[int, OriginalVoter]
    end_offsets: Mapping[int, int]
    observers: Mapping[int, str]

    def lag(self, node_id: int) -> int | None:
        """Return how many records a replica is behind the high watermark; None if the leader does not know it."""
        end = self.end_offsets.get(node_id)
        return None if end is None or end < 0 else max(0, self.high_watermark - end)


class QuorumAccess:
    """Connections to the controllers that may lead. `endpoints`: by node id; -1 and below where it is not known."""

    def __init__(self, endpoints: Iterable[Endpoint], config: ClientConfig) -> None:
        self._config = replace(config.within(_TIMEOUT_MS), request_timeout_ms=_TIMEOUT_MS)
        self._long = config
        self._endpoints = list(dict.fromkeys(endpoints))
        self._connections: dict[Endpoint, NodeConnection] = {}

    def know(self, endpoints: Iterable[Endpoint]) -> None:
        """Add controllers that may lead."""
        self._endpoints = list(dict.fromkeys([*self._endpoints, *endpoints]))

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(connection.close() for connection in self._connections.values()))
        self._connections.clear()

    async def view(self) -> QuorumView:
        """Return the quorum as its leader describes it. Raises NoLeaderError."""
        return (await self._leader())[1]

    async def add_voter(self, cluster_id: str, voter: OriginalVoter) -> None:
        """Add a voter. Returns if it is one already. Raises NoLeaderError, ClientError."""
        node, view = await self._leader()
        if voter.node_id in view.voters:
            return
        request = AddRaftVoterRequest(
            cluster_id=cluster_id,
            timeout_ms=_CHANGE_TIMEOUT_MS,
            voter_id=voter.node_id,
            voter_directory_id=bytes.fromhex(voter.directory_id),
            listeners=[add_raft_voter_request.Listener(each.name, each.host, each.port) for each in voter.listeners],
        )
        response = await node.request(request, timeout_ms=_CHANGE_TIMEOUT_MS)
        assert isinstance(response, AddRaftVoterResponse)
        if response.error_code not in (ErrorCode.NONE, ErrorCode.DUPLICATE_VOTER):
            raise NodeRefusedError(node.endpoint, "AddRaftVoter", response.error_code, response.error_message)

    async def remove_voter(self, cluster_id: str, voter: OriginalVoter) -> None:
        """Remove a voter. Returns if it is none. Raises NoLeaderError, ClientError."""
        node, view = await self._leader()
        if voter.node_id not in view.voters:
            return
        request = RemoveRaftVoterRequest(
            cluster_id=cluster_id, voter_id=voter.node_id, voter_directory_id=bytes.fromhex(voter.directory_id)
        )
        response = await node.request(request, timeout_ms=_CHANGE_TIMEOUT_MS)
        assert isinstance(response, RemoveRaftVoterResponse)
        if response.error_code not in (ErrorCode.NONE, ErrorCode.VOTER_NOT_FOUND):
            raise NodeRefusedError(node.endpoint, "RemoveRaftVoter", response.error_code, response.error_message)

    async def _leader(self) -> tuple[NodeConnection, QuorumView]:
        failures = []
        for endpoint in self._endpoints:
            connection = self._connections.setdefault(endpoint, NodeConnection(endpoint, self._config))
            try:
                view = await _describe(connection)
            except (ClientError, UnsupportedApiError) as error:
                failures.append(str(error))
            else:
                self._endpoints.remove(endpoint)
                self._endpoints.insert(0, endpoint)
                return connection, view
        raise NoLeaderError(f"no controller leads the quorum: {'; '.join(failures)}")


async def _describe(node: NodeConnection) -> QuorumView:
    topic = describe_quorum_request.TopicData(_METADATA_TOPIC, [describe_quorum_request.PartitionData(0)])
    response = await node.request(DescribeQuorumRequest(topics=[topic]), is_idempotent=True)
    assert isinstance(response, DescribeQuorumResponse)
    if response.error_code != ErrorCode.NONE:
        raise NodeRefusedError(node.endpoint, "DescribeQuorum", response.error_code, response.error_message)
    [partition] = response.topics[0].partitions
    if partition.error_code != ErrorCode.NONE:
        raise NodeRefusedError(node.endpoint, "DescribeQuorum", partition.error_code, error_name(partition.error_code))
    listeners = {
        each.node_id: tuple(VoterListener(name=one.name, host=one.host, port=one.port) for one in each.listeners)
        for each in response.nodes
    }
    replicas = [*partition.current_voters, *partition.observers]
    return QuorumView(
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        high_watermark=partition.high_watermark,
        voters={
            voter.replica_id: OriginalVoter(
                node_id=voter.replica_id,
                directory_id=voter.replica_directory_id.hex(),
                listeners=listeners.get(voter.replica_id, ()),
            )
            for voter in partition.current_voters
        },
        end_offsets={replica.replica_id: replica.log_end_offset for replica in replicas},
        observers={each.replica_id: each.replica_directory_id.hex() for each in partition.observers},
    )
