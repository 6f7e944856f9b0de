"""Operations on an administrator's own topics: create, configure, add partitions, move, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    IncrementalAlterConfigsRequest,
)
from falkirk.protocol.messages.alter_partition_reassignments_request import ReassignablePartition, ReassignableTopic
from falkirk.protocol.messages.create_partitions_request import CreatePartitionsTopic
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.delete_topics_request import DeleteTopicState
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.simulation.history.write_history import TOPIC_CONFIG, TopicHistory
from falkirk.simulation.workload.operation import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.simulation.history.write_history import History

_TOPIC_RESOURCE: Final = 2
_SET: Final = 0
_PARTITIONS_MAX: Final = 6


class TopicOperations:
    """`name` is the prefix of all topic names; `broker_ids`: where partitions may be moved to."""

    def __init__(self, name: str, chance: Chance, history: History, broker_ids: Sequence[int]) -> None:
        self._name = name
        self._chance = chance
        self._history = history
        self._broker_ids = broker_ids
        self._mine: list[str] = []
        self._count = 0

    def choose(self) -> Operation:
        """Choose the next operation."""
        draw = self._chance.random()
        if not self._mine or draw < 0.35:
            return self._create()
        name = self._chance.choice(self._mine)
        if draw < 0.5:
            return self._delete(name)
        if draw < 0.8:
            return self._configure(name)
        return self._enlarge(name) if draw < 0.9 else self._move(name)

    def _create(self) -> Operation:
        self._count += 1
        name = f"{self._name}-{self._count}"
        topic = self._history.topics[name] = TopicHistory()
        partitions, replicas = self._chance.randrange(1, 4), self._chance.randrange(1, 3)
        topic.partition_count.values.append(partitions)

        def done(response: CreateTopicsResponse) -> None:
            topic.topic_id = response.topics[0].topic_id
            topic.partition_count.acknowledge()
            self._mine.append(name)

        request = CreateTopicsRequest(
            topics=[CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas)]
        )
        return Operation(f"create {name}", request, lambda response: response.topics[0].error_code, done)

    def _delete(self, name: str) -> Operation:
        self._mine.remove(name)
        topic = self._history.topics[name]
        topic.is_deletion_requested = True

        def done(_: object) -> None:
            topic.is_deletion_acknowledged = True

        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], topic_names=(name,))
        return Operation(f"delete {name}", request, lambda response: response.responses[0].error_code, done)

    def _configure(self, name: str) -> Operation:
        self._count += 1
        value = str(1_000_000 + self._count)
        register = self._history.topics[name].config
        register.values.append(value)
        config = AlterableConfig(name=TOPIC_CONFIG, config_operation=_SET, value=value)
        request = IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=name, configs=[config])]
        )
        what = f"set {TOPIC_CONFIG} of {name} to {value}"
        return Operation(
            what, request, lambda response: response.responses[0].error_code, lambda _: register.acknowledge()
        )

    def _enlarge(self, name: str) -> Operation:
        register = self._history.topics[name].partition_count
        count = register.values[-1]
        assert isinstance(count, int)
        if count >= _PARTITIONS_MAX:
            return self._move(name)
        register.values.append(count + 1)
        request = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=name, count=count + 1, assignments=None)], timeout_ms=1000
        )
        what = f"give {name} {count + 1} partitions"
        return Operation(
            what, request, lambda response: response.results[0].error_code, lambda _: register.acknowledge()
        )

    def _move(self, name: str) -> Operation:
        """Reassign the first partition, or cancel its reassignment."""
        replicas: tuple[int, ...] | None = (self._chance.choice(self._broker_ids),)
        if self._chance.random() < 0.3:
            replicas = None
        partition = ReassignablePartition(partition_index=0, replicas=replicas)
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=1000, topics=[ReassignableTopic(name=name, partitions=[partition])]
        )
        what = f"move {name} to {replicas[0]}" if replicas else f"cancel the move of {name}"
        return Operation(what, request, _reassignment_error, lambda _: None)


def _reassignment_error(response: AlterPartitionReassignmentsResponse) -> int:
    return response.error_code or response.responses[0].partitions[0].error_code
