"""Elections that an operator asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.partitions.partition_change import Election
from falkirk.metadata.controller.partitions.replication_decision import ReplicationDecision
from falkirk.metadata.controller.state.operation_limit import BATCH_TOO_LARGE, is_too_large
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.partition import NO_LEADER
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import ElectLeadersResponse
from falkirk.protocol.messages.elect_leaders_response import PartitionResult, ReplicaElectionResult
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.protocol.messages import ElectLeadersRequest
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices

# Numbers of election types on the wire.
_ELECTIONS: Final = {0: Election.PREFERRED, 1: Election.UNCLEAN}


class LeaderElection:
    """One ElectLeaders request; each partition succeeds or fails for itself."""

    def __init__(
        self, state: ControllerState, configs: ConfigurationControl, request: ElectLeadersRequest, api_version: int
    ) -> None:
        self._state = state
        self._request = request
        self._api_version = api_version
        self._decision = ReplicationDecision(state, configs)
        self._records: list[VersionedRecord] = []

    def elect(self) -> Slices[ControllerResult[WireMessage]]:
        """Elect leaders; the changes need not take effect together.

        Differs from Kafka: of all partitions (null), topics without a result are left out.
        """
        election = _ELECTIONS.get(self._request.election_type)
        if election is None:
            message = f"Unknown election type {self._request.election_type}"
            return self._refused(ApiError(ErrorCode.INVALID_REQUEST, message))
        results, budget = [], SliceBudget()
        for name, partitions in (yield from self._named(election, budget)):
            elected = []
            for partition in partitions:
                elected.append(self._result(name, partition, election))
                if budget.spend(2 * DECISION_VISITS):
                    yield
            results.append(ReplicaElectionResult(name, elected))
            if is_too_large(self._records):
                return self._refused(BATCH_TOO_LARGE)
            if budget.spend(1):
                yield
        response = ElectLeadersResponse(replica_election_results=results)
        return ControllerResult(tuple(self._records), response, is_atomic=False)

    def _named(self, election: Election, budget: SliceBudget) -> Slices[list[tuple[str, tuple[int, ...]]]]:
        """Return the partitions asked for by topic; of all, those that have not the leader they should."""
        if self._request.topic_partitions is not None:
            return [(topic.topic, tuple(topic.partitions)) for topic in self._request.topic_partitions]
        index = self._state.partitions
        by_topic: dict[str, list[int]] = {}
        for key in index.imbalanced() if election is Election.PREFERRED else index.without_leader():
            by_topic.setdefault(self._state.image.topics.names[key.topic_id], []).append(key.partition_id)
            if budget.spend(1):
                yield
        return [(name, tuple(partitions)) for name, partitions in sorted(by_topic.items())]

    def _result(self, name: str, partition_id: int, election: Election) -> PartitionResult:
        error_code, message = self._elect(name, partition_id, election)
        return PartitionResult(partition_id, error_code, message)

    def _elect(self, name: str, partition_id: int, election: Election) -> ApiError:
        topic = self._state.image.topics.topic(name)
        if topic is None:
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
        partition = topic.partition(partition_id)
        if partition is None:
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{partition_id}")
        if election is Election.PREFERRED:
            is_needed = partition.replicas[:1] != (partition.leader,)
        else:
            is_needed = partition.leader == NO_LEADER
        if not is_needed:
            return ApiError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
        record = self._decision.change(topic, partition_id, partition, election=election)
        if record is not None:
            self._records.append(record)
            return NO_ERROR
        if election is Election.PREFERRED:
            return ApiError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
        message = "Eligible topic partition leaders are not available."
        return ApiError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, message)

    def _refused(self, error: ApiError) -> ControllerResult[WireMessage]:
        return ControllerResult((), error_response(self._request, self._api_version, error.error_code, error.message))
