"""New topics: names, assignments, placement, configs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
from falkirk.metadata.controller.state.topic_names import reason_invalid_name
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import CreateTopicsResponse, TopicRecord
from falkirk.protocol.messages.create_topics_response import CreatableTopicConfigs, CreatableTopicResult
from falkirk.protocol.uuid import random_uuid
from falkirk.slices import DECISION_VISITS, SliceBudget, pause_after

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.partitions.replica_placement import ReplicaPlacer
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.mutation_quota import MutationQuota
    from falkirk.metadata.controller.state.settings import ControllerSettings
    from falkirk.metadata.image.partition import Partition
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic
    from falkirk.slices import Slices

# What a topic itself counts as: its answer has all its configs.
TOPIC_VISITS: Final = 20


class TopicCreation:
    """One request that creates topics; each succeeds or fails for itself."""

    def __init__(
        self,
        state: ControllerState,
        settings: ControllerSettings,
        configs: ConfigurationControl,
        placer: ReplicaPlacer,
        random: Chance,
        *,
        quota: MutationQuota,
    ) -> None:
        self._state = state
        self._settings = settings
        self._configs = configs
        self._placer = placer
        self._random = random
        self._quota = quota
        self._decision = ReplicationDecision(state, configs)
        self._records: list[VersionedRecord] = []

    def create(
        self, topics: Sequence[CreatableTopic], *, describable: AbstractSet[str], validate_only: bool
    ) -> Slices[ControllerResult[CreateTopicsResponse]]:
        """Decide on topics whose names differ, in one atomic batch.

        `describable`: names of topics whose configs may be told.
        """
        error, results, budget = NO_ERROR, [], SliceBudget()
        yield from pause_after(len(topics))
        if self._partition_count(topics) > PARTITIONS_MAX:
            error = TOO_MANY_PARTITIONS
        else:
            for topic in topics:
                results.append((yield from self._create(topic, is_describable=topic.name in describable)))
                if budget.spend(TOPIC_VISITS):
                    yield
            if is_too_large(self._records):
                error = BATCH_TOO_LARGE
        yield from pause_after(len(topics))
        if error.is_failure:
            return ControllerResult((), CreateTopicsResponse(topics=[_failed(topic.name, error) for topic in topics]))
        records = () if validate_only else tuple(self._records)
        return ControllerResult(records, CreateTopicsResponse(topics=results))

    def _partition_count(self, topics: Iterable[CreatableTopic]) -> int:
        default = self._settings.num_partitions
        return sum(
            len(topic.assignments) or (default if topic.num_partitions == -1 else max(topic.num_partitions, 0))
            for topic in topics
        )

    def _create(self, topic: CreatableTopic, *, is_describable: bool) -> Slices[CreatableTopicResult]:
        error = self._name_error(topic.name)
        if error.is_failure:
            return _failed(topic.name, error)
        config_records, error = self._config_records(topic)
        if error.is_failure:
            return _failed(topic.name, error)
        partitions = yield from self._assigned(topic.assignments, topic) if topic.assignments else self._placed(topic)
        if isinstance(partitions, ApiError):
            return _failed(topic.name, partitions)
        error = self._quota.accept(len(partitions))
        if error.is_failure:
            return _failed(topic.name, error)
        topic_id = random_uuid(self._random)
        self._records.append(VersionedRecord(TopicRecord(topic.name, topic_id), 0))
        self._records += config_records
        self._records += yield from partition_records(topic_id, 0, partitions, self._decision)
        return self._created(topic, topic_id, partitions, is_describable=is_describable)

    def _name_error(self, name: str) -> ApiError:
        if self._state.image.topics.topic(name) is not None:
            return ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        reason = reason_invalid_name(name)
        if reason is not None:
            return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
        colliding = self._state.colliding_names.colliding_with(name)
        if colliding is not None:
            message = f"Topic '{name}' collides with existing topic: {colliding}"
            return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        return NO_ERROR

    def _config_records(self, topic: CreatableTopic) -> tuple[Sequence[VersionedRecord], ApiError]:
        if not topic.configs:
            return (), NO_ERROR
        nulls = [config.name for config in topic.configs if config.value is None]
        if nulls:
            message = f"Null value not supported for topic configs: {','.join(nulls)}"
            return (), ApiError(ErrorCode.INVALID_CONFIG, message)
        return self._configs.alter_topic_configs_for_creation(
            topic.name, [(config.name, config.value) for config in topic.configs]
        )

    def _assigned(
        self, assignments: Sequence[CreatableReplicaAssignment], topic: CreatableTopic
    ) -> Slices[Sequence[Partition] | ApiError]:
        """Return the partitions as the client assigned them."""
        for name, value in (("replication factor", topic.replication_factor), ("numPartitions", topic.num_partitions)):
            if value != -1:
                message = f"A manual partition assignment was specified, but {name} was not set to -1."
                return ApiError(ErrorCode.INVALID_REQUEST, message)
        by_id: dict[int, Partition] = {}
        budget = SliceBudget()
        replication_factor = None
        for assignment in assignments:
            index, replicas = assignment.partition_index, tuple(assignment.broker_ids)
            problem = None
            if index in by_id:
                problem = f"Found multiple manual partition assignments for partition {index}"
            problem = problem or reason_unassignable(replicas, self._state.image.cluster, replication_factor)
            isr = self._decision.active(replicas)
            if not problem and not isr:
                problem = (
                    f"All brokers specified in the manual partition assignment for partition {index} are fenced or "
                    "in controlled shutdown."
                )
            if problem:
                return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
            replication_factor = len(replicas)
            by_id[index] = new_partition(replicas, isr, self._decision)
            if budget.spend(DECISION_VISITS):
                yield
        if set(by_id) != set(range(len(by_id))):
            message = "partitions should be a consecutive 0-based integer sequence"
            return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        return [by_id[index] for index in range(len(by_id))]

    def _placed(self, topic: CreatableTopic) -> Slices[Sequence[Partition] | ApiError]:
        """Return the partitions as the placer assigns them to brokers."""
        settings, decision = self._settings, self._decision
        count, factor = topic.num_partitions, topic.replication_factor
        if factor < -1 or factor == 0:
            message = "Replication factor must be larger than 0, or -1 to use the default value."
            return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
        if count < -1 or count == 0:
            message = "Number of partitions was set to an invalid non-positive value."
            return ApiError(ErrorCode.INVALID_PARTITIONS, message)
        factor = settings.default_replication_factor if factor == -1 else factor
        count = settings.num_partitions if count == -1 else count
        placed = yield from self._placer.place(count, factor, decision.usable_brokers())
        if isinstance(placed, ApiError):
            message = f"Unable to replicate the partition {factor} time(s): {placed.message}"
            return ApiError(placed.error_code, message)
        return (yield from placed_partitions(placed, decision))

    def _created(
        self, topic: CreatableTopic, topic_id: bytes, partitions: Sequence[Partition], *, is_describable: bool
    ) -> CreatableTopicResult:
        result = CreatableTopicResult(topic.name, topic_id, error_message=None)
        if not is_describable:
            result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            return result
        result.num_partitions = len(partitions)
        result.replication_factor = len(partitions[0].replicas)
        result.configs = [
            CreatableTopicConfigs(
                config.name,
                None if config.is_sensitive else config.value,
                config.read_only,
                config.source,
                config.is_sensitive,
            )
            for config in self._configs.effective_topic_configs(
                [(config.name, config.value) for config in topic.configs]
            )
        ]
        return result


def _failed(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(name, error_code=error.error_code, error_message=error.message)
