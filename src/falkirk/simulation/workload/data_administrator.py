"""Creates the topics of a plan, and changes them while they are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
)
from falkirk.protocol.messages.alter_partition_reassignments_request import ReassignablePartition, ReassignableTopic
from falkirk.protocol.messages.create_partitions_request import CreatePartitionsAssignment, CreatePartitionsTopic
from falkirk.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from falkirk.protocol.messages.delete_topics_request import DeleteTopicState
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.simulation.plans.data_plan import Keeping
from falkirk.simulation.workload.operation import Operation
from falkirk.simulation.workload.operation_client import OperationClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.plans.data_plan import DataPlan, TopicPlan

_INTERVAL_MS: Final = 700
_RETRY_MS: Final = 200
_TOPIC_RESOURCE: Final = 2
_SET: Final = 0
_PREFERRED: Final = 0
_PARTITIONS_MAX: Final = 4


class DataAdministrator(OperationClient):
    """Places replicas on `broker_ids` only: others hold no data. A deleted topic is created again under its name.

    Missing topics are created even after the workload has ended.
    """

    def __init__(
        self, controllers: Sequence[Endpoint], chance: Chance, plan: DataPlan, broker_ids: Sequence[int]
    ) -> None:
        super().__init__(controllers, chance, client_id="data-administrator")
        self._plan = plan
        self._broker_ids = broker_ids
        self._partition_counts: dict[str, int] = {}
        self._missing = {topic.name: topic for topic in plan.topics}

    @property
    def is_done(self) -> bool:
        """True if all topics exist."""
        return not self._missing

    @property
    def next_due_ms(self) -> int | None:
        """When the next request is due."""
        return self._due_ms if self._missing or self._plan.is_administered else None

    def next_request(self, now_ms: int) -> WireMessage | None:
        """Create a missing topic, else choose an operation."""
        if self.next_due_ms is None or now_ms < self._due_ms:
            return None
        if self._missing:
            self._due_ms = now_ms + _RETRY_MS
            self._current = self._create(next(iter(self._missing.values())))
        else:
            self._due_ms = now_ms + 1 + self.chance.randrange(0, 2 * _INTERVAL_MS)
            # A repeated deletion may have deleted a topic that was created again.
            self._current = self._create(self.chance.choice(self._plan.topics)) if self.is_over else self._choose()
        return self._current.request

    def finished(self, operation: Operation, response: WireMessage, error: int) -> None:
        """Record the result; a topic that already exists counts as created."""
        if not error or error == ErrorCode.TOPIC_ALREADY_EXISTS:
            operation.done(response)

    # --- Operations

    def _choose(self) -> Operation:
        topic = self.chance.choice(self._plan.topics)
        draw = self.chance.random()
        if draw < 0.3 and Keeping.of(topic.name) is Keeping.NOTHING:
            return self._delete(topic)
        if draw < 0.45:
            return self._move(topic)
        if draw < 0.6 and self._partition_counts[topic.name] < _PARTITIONS_MAX:
            return self._enlarge(topic)
        if draw < 0.8:
            return self._elect()
        return self._configure(topic)

    def _replicas(self, topic: TopicPlan) -> tuple[int, ...]:
        broker_ids = list(self._broker_ids)
        self.chance.shuffle(broker_ids)
        return tuple(broker_ids[: topic.replication_factor])

    def _create(self, topic: TopicPlan) -> Operation:
        assignments = [
            CreatableReplicaAssignment(partition_index=partition, broker_ids=self._replicas(topic))
            for partition in range(topic.partition_count)
        ]
        configs = [CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()]
        made = CreatableTopic(
            name=topic.name, num_partitions=-1, replication_factor=-1, assignments=assignments, configs=configs
        )

        def done(_: object) -> None:
            self._partition_counts.setdefault(topic.name, topic.partition_count)
            self._missing.pop(topic.name, None)

        return Operation(
            f"create {topic.name}",
            CreateTopicsRequest(topics=[made]),
            lambda response: response.topics[0].error_code,
            done,
        )

    def _delete(self, topic: TopicPlan) -> Operation:
        # Whatever the response, the topic is created if it is missing.
        self._missing[topic.name] = topic
        del self._partition_counts[topic.name]
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)], topic_names=(topic.name,))
        return Operation(
            f"delete {topic.name}", request, lambda response: response.responses[0].error_code, lambda _: None
        )

    def _move(self, topic: TopicPlan) -> Operation:
        """Reassign a partition to other replicas or to another order, or cancel a reassignment."""
        number = self.chance.randrange(0, self._partition_counts[topic.name])
        replicas = None if self.chance.random() < 0.2 else self._replicas(topic)
        partition = ReassignablePartition(partition_index=number, replicas=replicas)
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=1000, topics=[ReassignableTopic(name=topic.name, partitions=[partition])]
        )
        name = f"{topic.name}-{number}"
        what = f"move {name} to {replicas}" if replicas else f"cancel the move of {name}"
        return Operation(what, request, _reassignment_error, lambda _: None)

    def _enlarge(self, topic: TopicPlan) -> Operation:
        count = self._partition_counts[topic.name] + 1
        assignment = CreatePartitionsAssignment(broker_ids=self._replicas(topic))
        request = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=topic.name, count=count, assignments=[assignment])], timeout_ms=1000
        )

        def done(_: object) -> None:
            self._partition_counts[topic.name] = count

        what = f"give {topic.name} {count} partitions"
        return Operation(what, request, lambda response: response.results[0].error_code, done)

    def _elect(self) -> Operation:
        """Elect a preferred leader."""
        request = ElectLeadersRequest(election_type=_PREFERRED, topic_partitions=None, timeout_ms=1000)
        return Operation("elect preferred leaders", request, lambda response: response.error_code, lambda _: None)

    def _configure(self, topic: TopicPlan) -> Operation:
        value = str(self.chance.randrange(1, topic.replication_factor + 1))
        config = AlterableConfig(name="min.insync.replicas", config_operation=_SET, value=value)
        request = IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=topic.name, configs=[config])]
        )
        what = f"set min.insync.replicas of {topic.name} to {value}"
        return Operation(what, request, lambda response: response.responses[0].error_code, lambda _: None)


def _reassignment_error(response: AlterPartitionReassignmentsResponse) -> int:
    return response.error_code or response.responses[0].partitions[0].error_code
