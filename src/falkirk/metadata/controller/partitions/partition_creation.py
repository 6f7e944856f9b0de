"""More partitions for topics that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.partitions.partition_assignment import (
    new_partition,
    partition_records,
    placed_partitions,
    reason_unassignable,
)
from falkirk.metadata.controller.partitions.replication_decision import ReplicationDecision
from falkirk.metadata.controller.state.operation_limit import (
    BATCH_TOO_LARGE,
    PARTITIONS_MAX,
    TOO_MANY_PARTITIONS,
    is_too_large,
)
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import CreatePartitionsResponse
from falkirk.protocol.messages.create_partitions_response import CreatePartitionsTopicResult
from falkirk.slices import DECISION_VISITS, SliceBudget, pause_after

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.partitions.replica_placement import ReplicaPlacer
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.mutation_quota import MutationQuota
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.protocol.messages.create_partitions_request import CreatePartitionsAssignment, CreatePartitionsTopic
    from falkirk.slices import Slices


class PartitionCreation:
    """One request that adds partitions to topics; each topic succeeds or fails for itself."""

    def __init__(
        self, state: ControllerState, configs: ConfigurationControl, placer: ReplicaPlacer, quota: MutationQuota
    ) -> None:
        self._state = state
        self._quota = quota
        self._placer = placer
        self._decision = ReplicationDecision(state, configs)
        self._records: list[VersionedRecord] = []

    def create(
        self, topics: Sequence[CreatePartitionsTopic], *, validate_only: bool
    ) -> Slices[ControllerResult[CreatePartitionsResponse]]:
        """Decide on topics whose names differ, in one atomic batch."""
        yield from pause_after(len(topics))
        additional, budget = 0, SliceBudget()
        for topic in topics:
            additional += self._additional(topic)
            if budget.spend(1):
                yield
        if additional > PARTITIONS_MAX:
            errors = [TOO_MANY_PARTITIONS] * len(topics)
        else:
            errors = []
            for topic in topics:
                errors.append((yield from self._add(topic)))
                if budget.spend(DECISION_VISITS):
                    yield
            if is_too_large(self._records):
                self._records.clear()
                errors = [BATCH_TOO_LARGE] * len(topics)
        yield from pause_after(len(topics))
        records = () if validate_only else tuple(self._records)
        results = [
            CreatePartitionsTopicResult(topic.name, error.error_code, error.message)
            for topic, error in zip(topics, errors, strict=True)
        ]
        return ControllerResult(records, CreatePartitionsResponse(results=results))

    def _additional(self, request: CreatePartitionsTopic) -> int:
        topic = self._state.image.topics.topic(request.name)
        return 0 if topic is None else max(request.count - topic.partition_count, 0)

    def _add(self, request: CreatePartitionsTopic) -> Slices[ApiError]:
        topic = self._state.image.topics.topic(request.name)
        if topic is None:
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
        error = _count_error(request, topic.partition_count)
        if error.is_failure:
            return error
        first = topic.partition(0)
        if first is None:
            message = f"Invalid state: topic {topic.name} appears to have no partitions."
            return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
        factor = len(first.replicas)
        if request.assignments is not None:
            partitions = yield from self._assigned(request.assignments, topic.partition_count, factor)
        else:
            partitions = yield from self._placed(request.count - topic.partition_count, factor)
        if isinstance(partitions, ApiError):
            return partitions
        error = self._quota.accept(len(partitions))
        if not error.is_failure:
            first_id = topic.partition_count
            self._records += yield from partition_records(topic.topic_id, first_id, partitions, self._decision)
        return error

    def _assigned(
        self, assignments: Sequence[CreatePartitionsAssignment], start: int, factor: int
    ) -> Slices[Sequence[Partition] | ApiError]:
        partitions, budget = [], SliceBudget()
        for partition_id, assignment in enumerate(assignments, start):
            replicas = tuple(assignment.broker_ids)
            problem = reason_unassignable(replicas, self._state.image.cluster, factor)
            isr = self._decision.active(replicas)
            if problem is None and not isr:
                problem = (
                    f"All brokers specified in the manual partition assignment for partition {partition_id} are "
                    "fenced or in controlled shutdown."
                )
            if problem is not None:
                return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
            partitions.append(new_partition(replicas, isr, self._decision))
            if budget.spend(DECISION_VISITS):
                yield
        return partitions

    def _placed(self, count: int, factor: int) -> Slices[Sequence[Partition] | ApiError]:
        decision = self._decision
        placed = yield from self._placer.place(count, factor, decision.usable_brokers())
        if isinstance(placed, ApiError):
            return placed
        return (yield from placed_partitions(placed, decision))


def _count_error(request: CreatePartitionsTopic, count: int) -> ApiError:
    if request.count == count:
        return ApiError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {count} partition(s).")
    if request.count < count:
        message = (
            f"The topic {request.name} currently has {count} partition(s); {request.count} would not be an increase."
        )
        return ApiError(ErrorCode.INVALID_PARTITIONS, message)
    additional = request.count - count
    if request.assignments is not None and len(request.assignments) != additional:
        message = (
            f"Attempted to add {additional} additional partition(s), but only {len(request.assignments)} "
            "assignment(s) were specified."
        )
        return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return NO_ERROR
