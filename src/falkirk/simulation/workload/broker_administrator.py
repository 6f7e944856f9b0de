"""Sends brokers requests to delete records, and to move replicas between log directories."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
)
from falkirk.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDir, AlterReplicaLogDirTopic
from falkirk.protocol.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsTopic
from falkirk.simulation.history.data_history import PartitionKey
from falkirk.simulation.plans.data_plan import Keeping
from falkirk.simulation.workload.broker_client import BrokerClient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.history.data_history import DataHistory
    from falkirk.simulation.workload.broker_client import PartitionPlace

_INTERVAL_MS: Final = 600
_HIGH_WATERMARK: Final = -1


class BrokerAdministrator(BrokerClient):
    """`log_dirs`: the log directories of every broker."""

    def __init__(
        self,
        name: str,
        brokers: Mapping[int, Endpoint],
        chance: Chance,
        history: DataHistory,
        *,
        log_dirs: Sequence[str],
    ) -> None:
        super().__init__(name, brokers, chance)
        self._history = history
        self._log_dirs = log_dirs
        self._next_ms = 0

    @property
    def due_ms(self) -> int | None:
        """When the next request is due."""
        return None if self.is_over else self._next_ms

    def act(self) -> None:
        """Choose a partition and a request for it."""
        if self.is_over or self.now_ms < self._next_ms:
            return
        self._next_ms = self.now_ms + 1 + self.chance.randrange(0, 2 * _INTERVAL_MS)
        places = [(name, place) for name, place in self.places.items() if Keeping.of(name[0]) is not None]
        if not places:
            return
        (topic, partition), place = self.chance.choice(places)
        if self.chance.random() < 0.5 and len(self._log_dirs) > 1:
            self._move(topic, partition, self.chance.choice(place.replicas))
        elif Keeping.of(topic) is Keeping.END and place.leader_id in self.brokers:
            self._delete(topic, partition, place)

    def _delete(self, topic: str, partition: int, place: PartitionPlace) -> None:
        key = PartitionKey(place.topic_id, partition)
        read = self._history.of(key).read
        offset = _HIGH_WATERMARK if self.chance.random() < 0.3 or not read else self.chance.randrange(0, max(read) + 1)
        requested = DeleteRecordsPartition(partition_index=partition, offset=offset)
        request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[requested])], timeout_ms=1000)
        self.ask(place.leader_id, request, partial(self._deleted, key))

    def _deleted(self, key: PartitionKey, response: WireMessage | None) -> None:
        if response is None:
            return
        assert isinstance(response, DeleteRecordsResponse)
        (answer,) = response.topics[0].partitions
        name = self._history.name(key)
        if answer.error_code:
            self.note(f"may not delete records of {name}: {ErrorCode(answer.error_code).name}")
            self.refresh()
            return
        self.note(f"deleted records of {name} up to {answer.low_watermark}")
        history = self._history.of(key)
        history.deleted_to = max(history.deleted_to, answer.low_watermark)

    def _move(self, topic: str, partition: int, broker_id: int) -> None:
        if broker_id not in self.brokers:
            return
        path = self.chance.choice(self._log_dirs)
        moved = AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=(partition,))])
        what = f"{topic}-{partition} of broker {broker_id} to {path}"
        self.ask(broker_id, AlterReplicaLogDirsRequest(dirs=[moved]), partial(self._moved, what))

    def _moved(self, what: str, response: WireMessage | None) -> None:
        if response is None:
            return
        assert isinstance(response, AlterReplicaLogDirsResponse)
        error = ErrorCode(response.results[0].partitions[0].error_code)
        self.note(f"moves {what}" if error is ErrorCode.NONE else f"may not move {what}: {error.name}")
