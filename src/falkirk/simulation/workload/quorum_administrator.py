"""Keeps controllers voters: adds them, and removes those whose disk is gone, and at times one at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AddRaftVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from falkirk.protocol.messages.add_raft_voter_request import Listener
from falkirk.protocol.messages.describe_quorum_request import PartitionData, TopicData
from falkirk.protocol.uuid import uuid_text
from falkirk.simulation.workload.controller_client import NOT_ACTIVE, ControllerClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage

_INTERVAL_MS: Final = 700
# The fewest voters left by a random removal.
_VOTERS_MIN: Final = 3
_METADATA_TOPIC: Final = "__cluster_metadata"


class QuorumAdministrator(ControllerClient):
    """`directory_ids`: of each controller's current disk, by node id; it changes during the run."""

    def __init__(
        self,
        controllers: Mapping[int, Endpoint],
        directory_ids: Mapping[int, bytes],
        chance: Chance,
        *,
        cluster_id: str,
    ) -> None:
        super().__init__(list(controllers.values()), chance, client_id="quorum-administrator")
        self._endpoints = controllers
        self._directory_ids = directory_ids
        self._cluster_id = cluster_id
        # No more random removals, so that a run can end.
        self.is_over = False
        self._plan: WireMessage | None = None
        self._due_ms = 0

    @property
    def next_due_ms(self) -> int | None:
        """When the next DescribeQuorum is due."""
        return self._due_ms

    def next_request(self, now_ms: int) -> WireMessage | None:
        """Return the change that the last DescribeQuorum requires, else another DescribeQuorum."""
        if now_ms < self._due_ms:
            return None
        plan, self._plan = self._plan, None
        if plan is not None:
            return plan
        return DescribeQuorumRequest(topics=[TopicData(_METADATA_TOPIC, [PartitionData(0)])])

    def answered(self, response: WireMessage, now_ms: int) -> bool:
        """Choose the next request."""
        if isinstance(response, DescribeQuorumResponse):
            (partition,) = response.topics[0].partitions
            if response.error_code in NOT_ACTIVE or partition.error_code in NOT_ACTIVE:
                return False
            self._plan = self._decide(
                {voter.replica_id: voter.replica_directory_id for voter in partition.current_voters}
            )
            self._due_ms = now_ms + (1 if self._plan else 1 + self.chance.randrange(0, 2 * _INTERVAL_MS))
            return True
        self._due_ms = now_ms + 1 + self.chance.randrange(0, 2 * _INTERVAL_MS)
        error: int = response.error_code  # type: ignore[attr-defined]  # both answers have it
        if error in NOT_ACTIVE:
            return False
        what = "removes" if isinstance(response, RemoveRaftVoterResponse) else "adds"
        self.note(f"{what} a voter: {ErrorCode(error).name}")
        return True

    def _decide(self, voters: Mapping[int, bytes]) -> WireMessage | None:
        lost = [node_id for node_id, directory in voters.items() if self._directory_ids[node_id] != directory]
        missing = [node_id for node_id in self._directory_ids if node_id not in voters]
        if lost:
            return self._removal(lost[0], voters[lost[0]])
        if missing and self.chance.random() < 0.5:
            return self._addition(self.chance.choice(missing))
        if len(voters) > _VOTERS_MIN and not self.is_over and self.chance.random() < 0.2:
            node_id = self.chance.choice(sorted(voters))
            return self._removal(node_id, voters[node_id])
        return None

    def _addition(self, node_id: int) -> WireMessage:
        endpoint, directory_id = self._endpoints[node_id], self._directory_ids[node_id]
        self.note(f"asks to add {node_id}@{uuid_text(directory_id)}")
        return AddRaftVoterRequest(
            cluster_id=self._cluster_id,
            timeout_ms=2000,
            voter_id=node_id,
            voter_directory_id=directory_id,
            listeners=[Listener("CONTROLLER", endpoint.host, endpoint.port)],
        )

    def _removal(self, node_id: int, directory_id: bytes) -> WireMessage:
        self.note(f"asks to remove {node_id}@{uuid_text(directory_id)}")
        return RemoveRaftVoterRequest(cluster_id=self._cluster_id, voter_id=node_id, voter_directory_id=directory_id)
