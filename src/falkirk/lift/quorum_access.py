"""The quorum as its leader describes it, and changes of its voters, for a lift.

Any of the known controllers may lead, falkirk's own too, which is registered nowhere: each is asked until the leader
answers, since only the leader describes the quorum. Sources: KIP-836, KIP-853.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from falkirk.client import registrations
from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.errors import ClientError
from falkirk.lift.errors import NoLeaderError
from falkirk.lift.journal import OriginalVoter, VoterListener
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages.end_quorum_epoch_request import (
    EndQuorumEpochRequest,
    PartitionData,
    ReplicaInfo,
    TopicData,
)
from falkirk.raft.context import PARTITION, TOPIC
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.negotiation import UnsupportedApiError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.client.config import ClientConfig
    from falkirk.client.node_versions import NodeVersions
    from falkirk.client.quorum_description import QuorumDescription

_REQUEST_TIMEOUT_MS: Final = 5000
_CHANGE_TIMEOUT_MS: Final = 30_000


def voters_of(quorum: QuorumDescription) -> tuple[OriginalVoter, ...]:
    """Return the voters with their directory ids and listeners, by rising node id."""
    voters = (
        OriginalVoter(
            node_id=state.node_id,
            directory_id=state.directory_id.hex(),
            listeners=tuple(
                VoterListener(name=name, host=endpoint.host, port=endpoint.port)
                for name, endpoint in quorum.voter_listeners.get(state.node_id, {}).items()
            ),
        )
        for state in quorum.voter_states
    )
    return tuple(sorted(voters, key=lambda voter: voter.node_id))


def lag(quorum: QuorumDescription, node_id: int) -> int | None:
    """Return how many records a replica is behind the high watermark; None if the leader does not know it."""
    end = {**quorum.observers, **quorum.voters}.get(node_id, -1)
    return None if end < 0 else max(0, quorum.high_watermark - end)


class QuorumAccess:
    """Connections to controllers that may lead."""

    def __init__(self, endpoints: Iterable[Endpoint], config: ClientConfig) -> None:
        self._config = config.within(_REQUEST_TIMEOUT_MS)
        # Each is asked as itself: as a bootstrap server it would name the leader that it believes in.
        self._by_endpoint = {endpoint: AsyncAdmin([endpoint], self._config) for endpoint in endpoints}
        self._admins = list(self._by_endpoint.values())

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(admin.close() for admin in self._admins))

    async def describe(self) -> QuorumDescription:
        """Return the quorum as its leader describes it. Raises NoLeaderError."""
        return (await self._leader())[1]

    async def finalized_level(self) -> int | None:
        """Return metadata.version as the leader has committed it; None if there is none. Raises NoLeaderError."""
        admin, _ = await self._leader()
        found = (await admin.describe_features()).finalized_features.get(METADATA_VERSION)
        return None if found is None else found.max_version_level

    async def registered_controllers(self) -> frozenset[int]:
        """Return the ids of the controllers that are registered, there or gone. Raises ClientError."""
        endpoints = list(self._by_endpoint)
        async with AsyncAdmin(endpoints, self._config, endpoint_type=EndpointType.CONTROLLER) as admin:
            return frozenset(node.node_id for node in (await admin.describe_cluster()).nodes)

    async def versions_at(self, endpoint: Endpoint) -> NodeVersions | None:
        """Return what a controller says of itself; None if it does not answer."""
        try:
            return await self._by_endpoint[endpoint].connection(endpoint).versions_with_progress()
        except ClientError:
            return None

    async def add_voter(self, voter: OriginalVoter) -> None:
        """Add a voter. Returns if it is one already. Raises NoLeaderError, ClientError."""
        admin, quorum = await self._leader()
        if voter.node_id not in quorum.voters:
            listeners = {each.name: Endpoint(each.host, each.port) for each in voter.listeners}
            directory_id = bytes.fromhex(voter.directory_id)
            await registrations.add_voter(admin, voter.node_id, directory_id, listeners, timeout_ms=_CHANGE_TIMEOUT_MS)

    async def remove_voter(self, voter: OriginalVoter) -> None:
        """Remove a voter. Returns if it is none. Raises NoLeaderError, ClientError."""
        admin, quorum = await self._leader()
        if voter.node_id in quorum.voters:
            await registrations.remove_voter(admin, voter.node_id, bytes.fromhex(voter.directory_id))

    async def ask_to_lead(self, voter: OriginalVoter, quorum: QuorumDescription) -> None:
        """Ask a falkirk controller that is there for a lift to stand for election. Raises ClientError.

        To it the request says that the leader resigns, and that it is the first successor.
        """
        partition = PartitionData(
            partition_index=PARTITION,
            leader_id=quorum.leader_id,
            leader_epoch=quorum.leader_epoch,
            preferred_successors=(voter.node_id,),
            preferred_candidates=[ReplicaInfo(voter.node_id, bytes.fromhex(voter.directory_id))],
        )
        request = EndQuorumEpochRequest(cluster_id=None, topics=[TopicData(TOPIC, [partition])])
        await self._by_endpoint[voter.endpoint].connection(voter.endpoint).request(request)

    async def _leader(self) -> tuple[AsyncAdmin, QuorumDescription]:
        failures = []
        for place, admin in enumerate(self._admins):
            try:
                quorum = await admin.describe_quorum()
            except (ClientError, UnsupportedApiError) as error:
                failures.append(str(error))
            else:
                self._admins.insert(0, self._admins.pop(place))
                return admin, quorum
        raise NoLeaderError(f"no controller leads the quorum: {'; '.join(failures)}")
