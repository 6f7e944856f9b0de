"""A producer that behaves like the Java client: idempotent, with several batches in flight, or plain."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from falkirk.simulation.history.data_history import PartitionKey, make_value
from falkirk.simulation.plans.data_plan import Keeping
from falkirk.simulation.workload.broker_client import BrokerClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.history.data_history import DataHistory
    from falkirk.simulation.plans.data_plan import ProducerPlan
    from falkirk.simulation.workload.broker_client import PartitionPlace

ALL: Final = -1
"""acks=all."""
_IN_FLIGHT_MAX: Final = 5
_DELIVERY_TIMEOUT_MS: Final = 9000
_RETRY_MS: Final = 100
_TIMEOUT_MS: Final = 1500
_KEYS: Final = 6
_RETRIABLE: Final = frozenset((
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_CONTROLLER,
))  # fmt: skip


@dataclass(slots=True)
class _Batch:
    """Produced records without a response yet. `retry_at_ms` is None while a request is in flight.

    `after`: what clients knew of the partition when the batch was first sent to it.
    """

    values: list[bytes]
    records: list[Record]
    first_sequence: int
    epoch: int
    give_up_at_ms: int
    retry_at_ms: int | None = 0
    after: dict[PartitionKey, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Lane:
    """The batches for one partition of a topic name, in order.

    `is_draining`: the outcome of an earlier batch is unknown. No new batch is sent until the others have responses;
    then the producer gets a new epoch, as in the Java client.
    """

    topic: str
    partition: int
    epoch: int
    next_sequence: int = 0
    batches: list[_Batch] = field(default_factory=list)
    is_draining: bool = False


class Producer(BrokerClient):
    """Produces to all partitions of topics with a known `Keeping` until it is ended, then waits for all responses."""

    def __init__(
        self,
        name: str,
        brokers: Mapping[int, Endpoint],
        chance: Chance,
        history: DataHistory,
        *,
        plan: ProducerPlan,
    ) -> None:
        assert plan.acks == ALL or not plan.is_idempotent
        super().__init__(name, brokers, chance)
        self._history = history
        self._is_idempotent = plan.is_idempotent
        self._acks = plan.acks
        self._interval_ms = plan.interval_ms
        self._codec = chance.choice((Compression.NONE, Compression.NONE, Compression.GZIP))
        self._producer_id: int | None = None
        self._producer_epoch = NO_PRODUCER_EPOCH
        self._is_asking_for_id = False
        self._count = 0
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._next_batch_ms = 0
        self._retry_id_ms = 0
        if plan.is_idempotent:
            history.idempotent.add(name)

    @property
    def is_done(self) -> bool:
        """True if no batch waits for a response."""
        return not any(lane.batches for lane in self._lanes.values())

    @property
    def due_ms(self) -> int | None:
        """When a batch is due to be sent or to expire."""
        times = [] if self.is_over else [max(self._next_batch_ms, self._retry_id_ms if self._needs_id else 0)]
        for lane in self._lanes.values():
            times += [each.give_up_at_ms if each.retry_at_ms is None else each.retry_at_ms for each in lane.batches]
        return min(times, default=None)

    def act(self) -> None:
        """Get a producer id, make a batch, send the batches that are due."""
        if self._needs_id:
            self._ask_for_id()
        elif self.now_ms >= self._next_batch_ms and not self.is_over:
            self._next_batch_ms = self.now_ms + 1 + self.chance.randrange(0, 2 * self._interval_ms)
            self._make_batch()
        for lane in self._lanes.values():
            self._expire(lane)
            self._send_due(lane)

    # --- The producer's id

    @property
    def _needs_id(self) -> bool:
        return self._is_idempotent and self._producer_id is None

    def _ask_for_id(self) -> None:
        if self._is_asking_for_id or self.now_ms < self._retry_id_ms:
            return
        self._is_asking_for_id = True
        self._retry_id_ms = self.now_ms + _RETRY_MS
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        self.ask(self.chance.choice(sorted(self.brokers)), request, self._got_id)

    def _got_id(self, response: WireMessage | None) -> None:
        self._is_asking_for_id = False
        self._retry_id_ms = self.now_ms + _RETRY_MS
        if response is None:
            return
        assert isinstance(response, InitProducerIdResponse)
        if response.error_code:
            assert response.error_code in _RETRIABLE, f"InitProducerId: {ErrorCode(response.error_code).name}"
            return
        self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch
        self.note(f"has producer id {self._producer_id}")

    # --- Batches

    def _make_batch(self) -> None:
        places = [(name, place) for name, place in self.places.items() if Keeping.of(name[0]) is not None]
        if not places:
            return
        (topic, partition), _ = self.chance.choice(places)
        lane = self._lanes.setdefault((topic, partition), _Lane(topic, partition, self._producer_epoch))
        if lane.is_draining:
            if lane.batches:
                return
            self._begin_epoch(lane)
        if len(lane.batches) >= _IN_FLIGHT_MAX:
            return
        values = []
        for _ in range(self.chance.randrange(1, 5)):
            values.append(make_value(self.name, self._count, self.chance.choice((0, 10, 200, 700))))
            self._count += 1
        self._history.produced += len(values)
        give_up_at_ms = self.now_ms + _DELIVERY_TIMEOUT_MS
        records = [self._record(number, value) for number, value in enumerate(values)]
        lane.batches.append(_Batch(values, records, lane.next_sequence, lane.epoch, give_up_at_ms))
        lane.next_sequence += len(values)

    def _begin_epoch(self, lane: _Lane) -> None:
        if self._is_idempotent:
            self._producer_epoch += 1
            lane.epoch, lane.next_sequence = self._producer_epoch, 0
            self.note(f"begins epoch {lane.epoch} in {lane.topic}-{lane.partition}")
        lane.is_draining = False

    def _record(self, number: int, value: bytes) -> Record:
        key = b"%d" % self.chance.randrange(0, _KEYS)
        return Record(number, self.now_ms, key, value)

    def _expire(self, lane: _Lane) -> None:
        """Expire batches after their delivery timeout; they may have been written, or may still be."""
        for batch in [batch for batch in lane.batches if self.now_ms >= batch.give_up_at_ms]:
            self._give_up(lane, batch, "takes too long")

    def _give_up(self, lane: _Lane, batch: _Batch, reason: str) -> None:
        self.note(f"gives up a batch of {lane.topic}-{lane.partition}: {reason}")
        lane.batches.remove(batch)
        lane.is_draining = True
        self._history.given_up += len(batch.values)

    def _send_due(self, lane: _Lane) -> None:
        for batch in [batch for batch in lane.batches if batch.retry_at_ms is not None]:
            assert batch.retry_at_ms is not None
            if self.now_ms < batch.retry_at_ms:
                # Later batches of the lane wait, which keeps the order.
                break
            place = self.places.get((lane.topic, lane.partition))
            if place is None or place.leader_id not in self.brokers:
                batch.retry_at_ms = self.now_ms + _RETRY_MS
                self.refresh()
                break
            batch.retry_at_ms = None
            self._send_batch(lane, batch, place)

    def _send_batch(self, lane: _Lane, batch: _Batch, place: PartitionPlace) -> None:
        data = build_batch(
            batch.records,
            base_offset=0,
            compression=self._codec,
            producer_id=NO_PRODUCER_ID if self._producer_id is None else self._producer_id,
            producer_epoch=batch.epoch,
            base_sequence=batch.first_sequence if self._is_idempotent else NO_SEQUENCE,
        )
        partition_data = PartitionProduceData(index=lane.partition, records=data)
        topic_data = TopicProduceData(name=lane.topic, topic_id=place.topic_id, partition_data=[partition_data])
        request = ProduceRequest(acks=self._acks, timeout_ms=_TIMEOUT_MS, topic_data=[topic_data])
        if self._acks == 0:
            self.ask(place.leader_id, request, None)
            lane.batches.remove(batch)
        else:
            key = PartitionKey(place.topic_id, lane.partition)
            self._history.topics[key.topic_id] = lane.topic
            batch.after.setdefault(key, self._history.of(key).end_seen)
            self.ask(place.leader_id, request, partial(self._answered, lane, batch, key))

    def _answered(self, lane: _Lane, batch: _Batch, key: PartitionKey, response: WireMessage | None) -> None:
        if batch not in lane.batches:
            return  # it was given up
        if response is None:
            self._retry(batch)
            return
        assert isinstance(response, ProduceResponse)
        (answer,) = response.responses[0].partition_responses
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.NONE:
            lane.batches.remove(batch)
            if self._acks == ALL:
                self._history.record_acked(key, answer.base_offset, batch.values, batch.after[key])
        elif error is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            lane.batches.remove(batch)  # it is written, at an unknown offset
        elif error in _RETRIABLE:
            self._retry(batch)
        elif error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self._out_of_order(lane, batch)
        else:
            self._give_up(lane, batch, error.name)

    def _retry(self, batch: _Batch) -> None:
        batch.retry_at_ms = self.now_ms + _RETRY_MS
        self.refresh()

    def _out_of_order(self, lane: _Lane, batch: _Batch) -> None:
        """Retry the batch if an earlier one is still in flight.

        Otherwise it was written before: a restarted broker remembers only the last batch of each producer.
        """
        if lane.batches[0] is batch:
            self._give_up(lane, batch, "it is out of order")
        else:
            self._retry(batch)
