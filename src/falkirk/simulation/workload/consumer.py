"""A consumer that reads every partition from its beginning, from leaders or followers, in fetch sessions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic, ForgottenTopic
from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic
from falkirk.protocol.record_batch import IncompleteBatchError, read_batches
from falkirk.simulation.history.data_history import PartitionKey, shown
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.plans.data_plan import Keeping
from falkirk.simulation.workload.broker_client import BrokerClient

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.messages.fetch_response import PartitionData
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.history.data_history import DataHistory
    from falkirk.simulation.plans.data_plan import ConsumerPlan
    from falkirk.simulation.workload.broker_client import PartitionPlace

_EARLIEST: Final = -2
_RETRY_MS: Final = 100
_MAX_WAIT_MS: Final = 300
_PARTITION_BYTES_MAX: Final = 3000
_BYTES_MAX: Final = 10_000
_FETCH: Final = 1
_FIRST_WITH_SESSIONS: Final = 7
_FIRST_WITH_LEADER_EPOCH: Final = 9
_FULL_EPOCH: Final = 0
_SESSIONLESS_EPOCH: Final = -1


@dataclass(slots=True)
class Position:
    """The position in a partition. `offset` is None until the log start offset is known."""

    topic: str
    key: PartitionKey
    offset: int | None = 0
    read_from: int | None = None
    retry_at_ms: int = 0
    is_asking: bool = False


@dataclass(slots=True)
class _Session:
    """A fetch session with a broker: by partition, the offset and epoch sent last."""

    session_id: int = 0
    epoch: int = _FULL_EPOCH
    requested: dict[PartitionKey, tuple[int, int]] = field(default_factory=dict)
    is_asking: bool = False
    retry_at_ms: int = 0
    topics: dict[PartitionKey, str] = field(default_factory=dict)

    def reset(self) -> None:
        """Start a new session with all partitions; this closes the old one."""
        self.epoch = _FULL_EPOCH
        self.requested = {}


class Consumer(BrokerClient):
    """Reads all partitions of topics with a known `Keeping`, from leaders or from any replica in sync."""

    def __init__(
        self,
        name: str,
        brokers: Mapping[int, Endpoint],
        chance: Chance,
        history: DataHistory,
        *,
        plan: ConsumerPlan,
    ) -> None:
        super().__init__(name, brokers, chance)
        self.positions: dict[PartitionKey, Position] = {}
        self._history = history
        self._reads_from_followers = plan.reads_from_followers
        self._has_sessions = plan.has_sessions
        self._tells_epoch = chance.random() < 0.7
        self._isolation_level = chance.choice((0, 1))
        self._sessions: dict[int, _Session] = {broker_id: _Session() for broker_id in brokers}

    def behind(self, high_watermarks: Mapping[PartitionKey, int]) -> str | None:
        """Return a partition that has not been read up to its high watermark; None if all have been."""
        for key, high_watermark in high_watermarks.items():
            position = self.positions.get(key)
            if position is None:
                if Keeping.of(self._history.topics.get(key.topic_id, "")) is not None:
                    return f"{self._history.name(key)} is not known yet"
            elif position.offset is None or position.offset < high_watermark:
                return f"{self._history.name(key)} is read up to {position.offset} of {high_watermark}"
        return None

    @property
    def due_ms(self) -> int | None:
        """When the next request to a broker is due."""
        times = [session.retry_at_ms for session in self._sessions.values() if not session.is_asking]
        return min(times, default=None)

    def act(self) -> None:
        """Send each broker the requests that are due."""
        self._follow_metadata()
        wanted: dict[int, list[tuple[Position, PartitionPlace]]] = {broker_id: [] for broker_id in self.brokers}
        for position in self.positions.values():
            place = self.places[position.topic, position.key.partition]
            if position.offset is None:
                self._ask_where_it_begins(position, place)
            elif self.now_ms >= position.retry_at_ms:
                source = self._source(position, place)
                if source is not None:
                    wanted[source].append((position, place))
        for broker_id, session in self._sessions.items():
            if not session.is_asking and self.now_ms >= session.retry_at_ms:
                self._fetch(broker_id, session, wanted[broker_id])

    # --- Which partitions, and from where

    def _follow_metadata(self) -> None:
        for (topic, partition), place in self.places.items():
            key = PartitionKey(place.topic_id, partition)
            if key not in self.positions and Keeping.of(topic) is not None:
                self._history.topics[key.topic_id] = topic
                self.positions[key] = Position(topic, key, offset=None)
        for key, position in list(self.positions.items()):
            known = self.places.get((position.topic, key.partition))
            if known is None or known.topic_id != key.topic_id:
                del self.positions[key]

    def _source(self, position: Position, place: PartitionPlace) -> int | None:
        if not self._reads_from_followers:
            return place.leader_id if place.leader_id in self.brokers else None
        if position.read_from not in place.isr:
            choices = sorted(each for each in place.isr if each in self.brokers)
            position.read_from = self.chance.choice(choices) if choices else None
        return position.read_from

    def _ask_where_it_begins(self, position: Position, place: PartitionPlace) -> None:
        if position.is_asking or self.now_ms < position.retry_at_ms or place.leader_id not in self.brokers:
            return
        position.is_asking = True
        requested = ListOffsetsPartition(partition_index=position.key.partition, timestamp=_EARLIEST)
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=position.topic, partitions=[requested])], timeout_ms=1000
        )
        self.ask(place.leader_id, request, partial(self._begins, position))

    def _begins(self, position: Position, response: WireMessage | None) -> None:
        position.is_asking = False
        position.retry_at_ms = self.now_ms + _RETRY_MS
        if response is None:
            return
        assert isinstance(response, ListOffsetsResponse)
        (answer,) = response.topics[0].partitions
        if answer.error_code:
            self.refresh()
        else:
            position.offset = answer.offset

    # --- Fetching

    def _fetch(self, broker_id: int, session: _Session, wanted: list[tuple[Position, PartitionPlace]]) -> None:
        session.retry_at_ms = self.now_ms + _RETRY_MS
        version = self.version(broker_id, _FETCH)
        is_incremental = self._has_sessions and version is not None and version >= _FIRST_WITH_SESSIONS
        if not wanted and (not is_incremental or not session.requested):
            return
        if not is_incremental:
            session.reset()
        requested = {
            position.key: (position.offset or 0, place.leader_epoch if self._tells_epoch else -1)
            for position, place in wanted
        }
        session.topics.update({position.key: position.topic for position, _ in wanted})
        known = {} if session.epoch == _FULL_EPOCH else session.requested
        news = {
            key: offset_and_epoch for key, offset_and_epoch in requested.items() if known.get(key) != offset_and_epoch
        }
        gone = [key for key in known if key not in requested]
        session.requested = requested
        session.is_asking = True
        request = FetchRequest(
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=_BYTES_MAX,
            isolation_level=self._isolation_level,
            session_id=session.session_id if is_incremental else 0,
            session_epoch=session.epoch if is_incremental else _SESSIONLESS_EPOCH,
            topics=[_fetched(session.topics[key], key, offset_and_epoch) for key, offset_and_epoch in news.items()],
            forgotten_topics_data=[
                ForgottenTopic(topic=session.topics[key], topic_id=key.topic_id, partitions=(key.partition,))
                for key in gone
            ],
        )
        self.ask(broker_id, request, partial(self._fetched, broker_id, session, is_incremental))

    def _fetched(
        self,
        broker_id: int,
        session: _Session,
        is_incremental: bool,  # noqa: FBT001  bound by partial
        response: WireMessage | None,
    ) -> None:
        session.is_asking = False
        session.retry_at_ms = self.now_ms + _RETRY_MS
        if response is None:
            session.reset()
            return
        assert isinstance(response, FetchResponse)
        if response.error_code:
            error = ErrorCode(response.error_code)
            self.note(f"cannot fetch from broker {broker_id}: {error.name}")
            if error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                session.session_id = 0
            session.reset()
            self.refresh()
            return
        session.retry_at_ms = self.now_ms + 1
        if is_incremental:
            self._go_on(session, response)
        by_name = {topic: key.topic_id for key, topic in session.topics.items() if key in session.requested}
        for topic in response.responses:
            topic_id = by_name[topic.topic] if topic.topic else topic.topic_id
            for answer in topic.partitions:
                key = PartitionKey(topic_id, answer.partition_index)
                position = self.positions.get(key)
                requested = session.requested.get(key)
                if position is not None and requested is not None and position.offset == requested[0]:
                    self._read_partition(broker_id, position, answer)

    def _go_on(self, session: _Session, response: FetchResponse) -> None:
        if response.session_id == 0:
            session.session_id = 0
            session.epoch = _FULL_EPOCH
        else:
            is_new = session.epoch == _FULL_EPOCH
            session.session_id = response.session_id
            session.epoch = 1 if is_new else session.epoch + 1

    def _read_partition(self, broker_id: int, position: Position, answer: PartitionData) -> None:
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(broker_id, position)
            return
        if error is not ErrorCode.NONE:
            position.retry_at_ms = self.now_ms + _RETRY_MS
            position.read_from = None
            self.refresh()
            return
        offset = position.offset
        assert offset is not None
        found = set()
        for batch in whole_batches(answer.records or b""):
            for record in batch.records():
                if record.offset >= offset:
                    assert record.value is not None, "producers write values"
                    self._history.record_read(position.key, record.offset, record.value, self.name)
                    found.add(record.offset)
            if batch.end_offset > answer.high_watermark:
                name = self._history.name(position.key)
                what = f"{shown(batch.records()[0].value)} at offset {batch.base_offset} of {name}"
                raise InvariantViolatedError(
                    "ReadsNeverChange",
                    f"{self.name} is shown {what} by broker {broker_id}, high watermark {answer.high_watermark}",
                )
            offset = max(offset, batch.end_offset)
        self._history.check_passed(position.key, range(position.offset or 0, offset), found, self.name)
        position.offset = offset

    def _out_of_range(self, broker_id: int, position: Position) -> None:
        position.retry_at_ms = self.now_ms + _RETRY_MS
        self.refresh()
        if not self._leads(broker_id, position):
            # A follower may be behind; ask the leader.
            position.read_from = None
            return
        if Keeping.of(position.topic) is not Keeping.ALL or position.key in self._history.lossy:
            position.offset = None
        elif self._tells_epoch and (self.version(broker_id, _FETCH) or 0) >= _FIRST_WITH_LEADER_EPOCH:
            what = f"offset {position.offset} of {self._history.name(position.key)}"
            raise InvariantViolatedError("ReadsNeverChange", f"{self.name} has read up to {what}, it is out of range")
        # Otherwise it may be a deposed leader, which does not report that.

    def _leads(self, broker_id: int, position: Position) -> bool:
        place = self.places.get((position.topic, position.key.partition))
        return place is not None and place.topic_id == position.key.topic_id and place.leader_id == broker_id


def whole_batches(records: bytes | memoryview) -> Iterator[RecordBatch]:
    """Yield the batches of a response, without a truncated one at its end."""
    batches = read_batches(records)
    while True:
        try:
            yield next(batches)
        except (StopIteration, IncompleteBatchError):
            return


def _fetched(topic: str, key: PartitionKey, offset_and_epoch: tuple[int, int]) -> FetchTopic:
    offset, leader_epoch = offset_and_epoch
    requested = FetchPartition(
        partition=key.partition,
        current_leader_epoch=leader_epoch,
        fetch_offset=offset,
        partition_max_bytes=_PARTITION_BYTES_MAX,
    )
    return FetchTopic(topic=topic, topic_id=key.topic_id, partitions=[requested])
