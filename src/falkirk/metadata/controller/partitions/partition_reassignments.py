"""Reassignments that operators start and call off, and those on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.partitions.partition_assignment import reason_unassignable
from falkirk.metadata.controller.partitions.partition_change import Election
from falkirk.metadata.controller.partitions.partition_reassignment import Cancellation, Reassignment, is_reassigning
from falkirk.metadata.controller.partitions.replication_decision import ReplicationDecision
from falkirk.metadata.controller.state.operation_limit import BATCH_TOO_LARGE, is_too_large
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import AlterPartitionReassignmentsResponse, ListPartitionReassignmentsResponse
from falkirk.protocol.messages.alter_partition_reassignments_response import (
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from falkirk.protocol.messages.list_partition_reassignments_response import (
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.protocol.messages import AlterPartitionReassignmentsRequest
    from falkirk.protocol.messages.alter_partition_reassignments_request import ReassignablePartition
    from falkirk.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsTopics
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


class PartitionReassignments:
    """One AlterPartitionReassignments request; each partition succeeds or fails for itself.

    A reassignment adds its replicas at first, those to be removed staying behind them; it ends by the change that
    brings all that stay into the ISR, which is this one if they are there already.
    """

    def __init__(
        self,
        state: ControllerState,
        configs: ConfigurationControl,
        request: AlterPartitionReassignmentsRequest,
        api_version: int,
    ) -> None:
        self._image = state.image
        self._request = request
        self._api_version = api_version
        self._decision = ReplicationDecision(state, configs)
        self._records: list[VersionedRecord] = []

    def alter(self) -> Slices[ControllerResult[WireMessage]]:
        """Decide on all partitions, in one atomic batch."""
        request = self._request
        responses, budget = [], SliceBudget()
        for topic in request.topics:
            if budget.spend(DECISION_VISITS):
                yield
            results = []
            for partition in topic.partitions:
                results.append(self._result(topic.name, partition))
                if budget.spend(2 * DECISION_VISITS):
                    yield
            responses.append(ReassignableTopicResponse(topic.name, results))
            if is_too_large(self._records):
                refused = error_response(request, self._api_version, *BATCH_TOO_LARGE)
                return ControllerResult((), refused)
        response = AlterPartitionReassignmentsResponse(
            allow_replication_factor_change=request.allow_replication_factor_change,
            error_message=None,
            responses=responses,
        )
        return ControllerResult(tuple(self._records), response)

    def _result(self, name: str, requested: ReassignablePartition) -> ReassignablePartitionResponse:
        error_code, message = self._alter(name, requested)
        return ReassignablePartitionResponse(requested.partition_index, error_code, message)

    def _alter(self, name: str, requested: ReassignablePartition) -> ApiError:
        index = requested.partition_index
        topic = self._image.topics.topic(name)
        if topic is None:
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
        partition = topic.partition(index)
        if partition is None:
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{index}.")
        if requested.replicas is None:
            return self._cancel(topic, index, partition)
        return self._change(topic, index, partition, tuple(requested.replicas))

    def _cancel(self, topic: Topic, index: int, partition: Partition) -> ApiError:
        if not is_reassigning(partition):
            return ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        cancellation = Cancellation.of(partition)
        if cancellation is None:
            message = "Invalid replica assignment: addingReplicas contains all replicas."
            return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        if cancellation.is_unclean and not self._decision.is_unclean_election_enabled(topic):
            message = (
                f"Unable to revert partition assignment for {topic.name}:{index} because it would require an unclean "
                "leader election."
            )
            return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        self._append(
            self._decision.change(
                topic, index, partition, isr=cancellation.isr, reassignment=Reassignment(cancellation.replicas)
            )
        )
        return NO_ERROR

    def _change(self, topic: Topic, index: int, partition: Partition, target: tuple[int, ...]) -> ApiError:
        problem = reason_unassignable(target, self._image.cluster)
        if problem is not None:
            return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
        factor = _replication_factor(partition)
        if not self._request.allow_replication_factor_change and len(target) != factor:
            message = f"The replication factor is changed from {factor} to {len(target)}"
            return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
        started = Reassignment.between(partition.replicas, target)
        # As in Kafka, what another reassignment adds or removes goes on if this one has nothing of the kind.
        reassignment = Reassignment(
            started.replicas,
            started.removing or partition.removing_replicas,
            started.adding or partition.adding_replicas,
        )
        self._append(
            self._decision.change(topic, index, partition, election=Election.ONLINE, reassignment=reassignment)
        )
        return NO_ERROR

    def _append(self, record: VersionedRecord | None) -> None:
        if record is not None:
            self._records.append(record)


def list_reassignments(
    state: ControllerState, topics: Iterable[ListPartitionReassignmentsTopics] | None
) -> Slices[ListPartitionReassignmentsResponse]:
    """Return the reassignments in progress, of some partitions or of all (None)."""
    budget = SliceBudget()
    named: Iterable[tuple[str, Sequence[int]]]
    if topics is not None:
        named = ((topic.name, topic.partition_indexes) for topic in topics)
    else:
        by_topic: dict[str, list[int]] = {}
        for key in state.partitions.reassigning():
            by_topic.setdefault(state.image.topics.names[key.topic_id], []).append(key.partition_id)
            if budget.spend(1):
                yield
        named = sorted(by_topic.items())
    response = ListPartitionReassignmentsResponse(error_message=None)
    for name, indexes in named:
        if budget.spend(DECISION_VISITS):
            yield
        ongoing = []
        for index in indexes:
            partition = state.image.topics.partition(name, index)
            if partition is not None and is_reassigning(partition):
                ongoing.append(
                    OngoingPartitionReassignment(
                        index, partition.replicas, partition.adding_replicas, partition.removing_replicas
                    )
                )
            if budget.spend(1):
                yield
        if ongoing:
            response.topics.append(OngoingTopicReassignment(name, ongoing))
    return response


def _replication_factor(partition: Partition) -> int:
    """Return the number of replicas after the reassignment."""
    return len({*partition.replicas, *partition.adding_replicas} - {*partition.removing_replicas})
