"""A READ_COMMITTED consumer of the topic of transactions, which also fetches the offsets that they commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.control_record import control_record_type
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchRequest, FetchResponse, OffsetFetchRequest, OffsetFetchResponse
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from falkirk.simulation.history.data_history import PartitionKey
from falkirk.simulation.plans.transaction_plan import TRANSACTED
from falkirk.simulation.workload.consumer import whole_batches
from falkirk.simulation.workload.sequential_client import GROUP, SequentialClient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.messages.fetch_response import PartitionData
    from falkirk.simulation.history.transaction_history import TransactionHistory
    from falkirk.simulation.plans.transaction_plan import TransactionPlan
    from falkirk.simulation.workload.broker_client import PartitionPlace
    from falkirk.simulation.workload.sequential_client import Story

_READ_COMMITTED: Final = 1
_ABORT_MARKER: Final = 0
_PAUSE_MS: Final = 50
_BYTES_MAX: Final = 2_000


class TransactionReader(SequentialClient):
    """`offsets`: by transactional id, the stable offset that was fetched last."""

    def __init__(
        self,
        name: str,
        brokers: Mapping[int, Endpoint],
        chance: Chance,
        history: TransactionHistory,
        *,
        plans: Sequence[TransactionPlan],
    ) -> None:
        super().__init__(name, brokers, chance)
        self.offsets: dict[str, int] = {}
        self._history = history
        self._plans = plans
        self._positions: dict[PartitionKey, int] = {}

    def story(self) -> Story[None]:
        """Read all partitions and offsets in turn, for ever."""
        while True:
            for (topic, partition), place in sorted(self.places.items()):
                if topic == TRANSACTED and place.leader_id in self.brokers:
                    yield from self._read(PartitionKey(place.topic_id, partition), place)
            yield _PAUSE_MS
            for plan in self._plans:
                yield from self._fetch_offset(plan)

    def unread(self, topic_id: bytes, high_watermarks: Mapping[PartitionKey, int]) -> str | None:
        """Return a partition that is not read up to its high watermark; None if all are."""
        for key, high_watermark in high_watermarks.items():
            position = self._positions.get(key, 0)
            if key.topic_id == topic_id and position != high_watermark:
                return f"{TRANSACTED}-{key.partition} is read up to {position} of {high_watermark}"
        return None

    def _read(self, key: PartitionKey, place: PartitionPlace) -> Story[None]:
        position = self._positions.get(key, 0)
        partition = FetchPartition(
            partition=key.partition, fetch_offset=position, partition_max_bytes=_BYTES_MAX, current_leader_epoch=-1
        )
        response = yield (
            place.leader_id,
            FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=_BYTES_MAX,
                isolation_level=_READ_COMMITTED,
                topics=[FetchTopic(topic=TRANSACTED, topic_id=key.topic_id, partitions=[partition])],
            ),
        )
        if response is None:
            return
        assert isinstance(response, FetchResponse)
        answer = response.responses[0].partitions[0] if response.responses else None
        if answer is None or answer.error_code:
            self.refresh()
            yield _PAUSE_MS
        else:
            self._positions[key] = self._follow(key, position, answer)

    def _follow(self, key: PartitionKey, position: int, answer: PartitionData) -> int:
        """Read a response as the Java consumer does; return the next position."""
        begun = sorted(answer.aborted_transactions or (), key=lambda each: each.first_offset, reverse=True)
        aborted: set[int] = set()
        for batch in whole_batches(answer.records or b""):
            while begun and begun[-1].first_offset <= batch.last_offset:
                aborted.add(begun.pop().producer_id)
            if batch.is_control:
                if control_record_type(batch.records()[0].key) == _ABORT_MARKER:
                    aborted.discard(batch.producer_id)
            elif batch.producer_id not in aborted:
                for record in batch.records():
                    if record.offset >= position:
                        assert record.value is not None, "clients write values"
                        self._history.record_read(key, record.value, self.name)
            position = max(position, batch.end_offset)
        return position

    def _fetch_offset(self, plan: TransactionPlan) -> Story[None]:
        place = self.places.get((TRANSACTED, 0))
        if place is None:
            return
        at_least = self._history.offset_at_least(plan.transactional_id)
        topic = OffsetFetchRequestTopics(name=TRANSACTED, topic_id=place.topic_id, partition_indexes=(0,))
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=plan.group_id, topics=[topic])], require_stable=True
        )
        response = yield from self.ask_coordinator(GROUP, plan.group_id, request)
        if response is None:
            return
        assert isinstance(response, OffsetFetchResponse)
        group = response.groups[0]
        error = group.error_code or group.topics[0].partitions[0].error_code
        if error == ErrorCode.UNSTABLE_OFFSET_COMMIT:
            return
        if error:
            yield from self.look_again(GROUP, plan.group_id)
            return
        offset = group.topics[0].partitions[0].committed_offset
        self._history.check_offset(plan.transactional_id, offset, at_least, self.name)
        self.offsets[plan.transactional_id] = offset
