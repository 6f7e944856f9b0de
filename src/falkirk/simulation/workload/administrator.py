"""Creates topics, changes a config of them, deletes them; takes note of what was acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.delete_topics_request import DeleteTopicState
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.simulation.workload.controller_client import NOT_CONTROLLER, ControllerClient
from falkirk.simulation.workload.history import TopicHistory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.workload.history import History

CONFIG: Final = "retention.ms"
_TOPIC_RESOURCE: Final = 2
_SET: Final = 0


class Administrator(ControllerClient):
    """One request after the other, `interval_ms` apart on average."""

    def __init__(
        self, name: str, controllers: Sequence[Endpoint], chance: Chance, history: History, *, interval_ms: int
    ) -> None:
        super().__init__(controllers, chance, client_id=name)
        self._name = name
        self._history = history
        self._interval_ms = interval_ms
        # No more requests, so that a run can end.
        self.is_over = False
        self._due_ms = 0
        self._mine: list[str] = []
        self._count = 0

    @property
    def next_due_ms(self) -> int | None:
        """When the next request is due."""
        return None if self.is_over else self._due_ms

    def next_request(self, now_ms: int) -> WireMessage | None:
        """Choose something to do."""
        if self.is_over or now_ms < self._due_ms:
            return None
        self._due_ms = now_ms + 1 + self.chance.randrange(0, 2 * self._interval_ms)
        self._history.asked += 1
        draw = self.chance.random()
        if not self._mine or draw < 0.4:
            return self._create()
        name = self.chance.choice(self._mine)
        return self._delete(name) if draw < 0.55 else self._alter(name)

    def answered(self, response: WireMessage, now_ms: int) -> bool:  # noqa: ARG002  as ControllerClient
        """Take note of what is acknowledged."""
        match response:
            case CreateTopicsResponse():
                return self._created(response)
            case DeleteTopicsResponse():
                return self._deleted(response)
            case _:
                assert isinstance(response, IncrementalAlterConfigsResponse)
                return self._altered(response)

    def _create(self) -> CreateTopicsRequest:
        self._count += 1
        name = f"{self._name}-{self._count}"
        self._history.topics[name] = TopicHistory()
        partitions, replicas = self.chance.randrange(1, 4), self.chance.randrange(1, 3)
        return CreateTopicsRequest(
            topics=[CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas)]
        )

    def _delete(self, name: str) -> DeleteTopicsRequest:
        self._mine.remove(name)
        self._history.topics[name].is_deletion_asked = True
        return DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], topic_names=(name,))

    def _alter(self, name: str) -> IncrementalAlterConfigsRequest:
        self._count += 1
        value = str(1_000_000 + self._count)
        self._history.topics[name].config_values.append(value)
        config = AlterableConfig(name=CONFIG, config_operation=_SET, value=value)
        return IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=name, configs=[config])]
        )

    def _created(self, response: CreateTopicsResponse) -> bool:
        (topic,) = response.topics
        if topic.error_code == NOT_CONTROLLER:
            return False
        if topic.error_code == 0:
            self._acknowledge(f"has created {topic.name}")
            self._history.topics[topic.name].topic_id = topic.topic_id
            self._mine.append(topic.name)
        else:
            self.note(f"may not create {topic.name}: error {topic.error_code} {topic.error_message}")
        return True

    def _deleted(self, response: DeleteTopicsResponse) -> bool:
        (topic,) = response.responses
        if topic.error_code == 0:
            assert topic.name is not None
            self._acknowledge(f"has deleted {topic.name}")
            self._history.topics[topic.name].is_deletion_acknowledged = True
        elif topic.error_code != NOT_CONTROLLER:
            self.note(f"may not delete {topic.name}: error {topic.error_code} {topic.error_message}")
        return topic.error_code != NOT_CONTROLLER

    def _altered(self, response: IncrementalAlterConfigsResponse) -> bool:
        (resource,) = response.responses
        if resource.error_code == 0:
            topic = self._history.topics[resource.resource_name]
            self._acknowledge(f"has set {CONFIG} of {resource.resource_name} to {topic.config_values[-1]}")
            topic.acknowledged_config_values = len(topic.config_values)
        elif resource.error_code != NOT_CONTROLLER:
            name = resource.resource_name
            self.note(f"may not change {name}: error {resource.error_code} {resource.error_message}")
        return resource.error_code != NOT_CONTROLLER

    def _acknowledge(self, text: str) -> None:
        self._history.acknowledged += 1
        self.note(text)
