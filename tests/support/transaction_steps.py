"""Requests of transactional producers, recorded: what the chapters of `transaction_story` are made of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from recorded_story import TIMESTAMP, Asker, RecordedStory

from falkirk.protocol import codec
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.control_record import ControlRecordType, decode_control_record
from falkirk.protocol.java_hash_map import java_string_hash
from falkirk.protocol.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    ApiVersionsRequest,
    CreateTopicsRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    EndTxnMarker,
    EndTxnRequest,
    FetchRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    ListTransactionsRequest,
    MetadataRequest,
    ProduceRequest,
    TransactionLogValue,
    TxnOffsetCommitRequest,
    UpdateFeaturesRequest,
    WriteTxnMarkersRequest,
)
from falkirk.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from falkirk.protocol.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic
from falkirk.protocol.messages.describe_producers_request import TopicRequest
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.messages.write_txn_markers_request import WritableTxnMarker, WritableTxnMarkerTopic
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import RecordBatch, read_batches
from falkirk.versions.message_layouts import layout_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.release import Release

STATE_TOPIC = "__transaction_state"
# The requests that a coordinator is asked in every state: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn.
INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, OFFSETS = 22, 24, 25, 26, 27, 28
_NOT_READY = {14, 15, 16}  # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
_ATTEMPTS = 300


class TransactionAsker(Asker, Protocol):
    """A client of one broker of a cluster of two; the other one runs only when it is started."""

    own_id: int
    other_id: int

    def start_other(self) -> None:
        """Start the other broker."""
        ...

    def kill_other(self) -> None:
        """Kill the other broker."""
        ...


class Producer(NamedTuple):
    """What InitProducerId gave."""

    id: int
    epoch: int

    def later(self, epochs: int) -> Producer:
        """Return the same producer some epochs later, or before."""
        return Producer(self.id, self.epoch + epochs)


class TransactionSteps(RecordedStory):
    """The requests; `producers` has the newest producer of each transactional id."""

    NOW_FIELDS = frozenset(
        {
            "transaction_start_time_ms",
            "transaction_last_update_timestamp_ms",
            "transaction_start_timestamp_ms",
            "last_timestamp",
        }
    )
    UNORDERED = frozenset({3, 10, 24, 27, 28, 61, 65, 66})
    _asker: TransactionAsker
    _level = 0

    def __init__(self, release: Release, asker: TransactionAsker) -> None:
        super().__init__(release, asker)
        self.producers: dict[str, Producer] = {}
        self._names: dict[int, str] = {-1: "none"}

    # --- The form of responses

    def _plain(self, value: Any, *, is_sorted: bool, name: str = "") -> Any:
        if name in ("producer_id", "previous_producer_id", "next_producer_id"):
            return self._names.setdefault(value, f"producer {len(self._names)}")
        if name in ("node_id", "leader_id"):
            return {self._asker.own_id: "the broker", self._asker.other_id: "the other"}.get(value, value)
        if isinstance(value, tuple) and is_sorted:
            return sorted(value)
        return super()._plain(value, is_sorted=is_sorted, name=name)

    def _records(self, data: bytes) -> Any:
        return [self._batch(batch) for batch in read_batches(memoryview(data))]

    def _batch(self, batch: RecordBatch) -> str:
        """Return a batch of data or a marker as text; batches have one record or more, all of one kind."""
        records = list(batch.records())
        head = f"{batch.base_offset}-{batch.last_offset}"
        if batch.producer_id >= 0:
            producer = self._names.setdefault(batch.producer_id, f"producer {len(self._names)}")
            head += f" {producer} epoch {batch.producer_epoch} from {batch.base_sequence}"
        if batch.is_control:
            marker = decode_control_record(records[0].key, records[0].value)
            assert isinstance(marker.message, EndTxnMarker)
            kind = ControlRecordType(marker.record_type).name
            return f"{head}: {kind} by {marker.message.coordinator_epoch}"
        kind = "transactional " if batch.is_transactional else ""
        return f"{head}: {kind}{[(record.value or b'').decode() for record in records]}"

    def _state_record(self, record: Record) -> tuple[str, str]:
        """Return the id and the text of a record of the state topic."""
        assert record.key is not None
        name = record.key[4:].decode()
        if record.value is None:
            return name, "none"
        version = int.from_bytes(record.value[:2], "big")
        layout = layout_in(self.release, "TransactionLogValue")
        value = codec.decode(TransactionLogValue, version, record.value[2:], layout=layout if version else None)
        return name, f"v{version} {json.dumps(self._plain(value, is_sorted=True))}"

    @staticmethod
    def _id_on(number: int, prefix: str = "id") -> str:
        """Return a transactional id of this partition of the state topic, which has two."""
        return next(name for at in range(100) if java_string_hash(name := f"{prefix}-{at}") & 1 == number)

    # --- Requests

    @property
    def _brokers_may_add(self) -> bool:
        """True if partitions may be added for producers of transaction.version 2.

        At level 0 coordinators from 4.0 on cannot write the record of such a transaction; they answer
        UNSUPPORTED_VERSION, and from then on CONCURRENT_TRANSACTIONS to everything. Nobody asks them there.
        """
        return self._level > 0 or self._ranges[END].highest < 5

    def _adding_versions(self) -> list[int]:
        return [version for version in self._versions(ADD_PARTITIONS) if version < 4 or self._brokers_may_add]

    def _set_up(self, level: int) -> None:
        self._level = level
        self._topics({"one": [self._asker.own_id] * 2, "two": [self._asker.own_id], "three": [self._asker.own_id]})
        if level:
            update = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("transaction.version", level)])
            answer = self._asker.ask(update, 1)
            assert answer.error_code == 0, answer
            assert all(each.error_code == 0 for each in answer.results), answer

            def is_there(answer: Any) -> bool:
                found = {each.name: each.max_version_level for each in answer.finalized_features}
                return bool(found.get("transaction.version") == level)

            self._until(is_there, ApiVersionsRequest("tester", "1"), 3)
        for kind, key in ((1, "a"), (0, "readers")):
            self._until(lambda answer: answer.error_code == 0, FindCoordinatorRequest(key, kind), 3)
        self._until(lambda answer: answer.error_code == 0, InitProducerIdRequest(None), 3)
        self._ready(*(self._id_on(number) for number in (0, 1)))

    def _some_versions(self, key: int, every: bool) -> list[int]:
        versions = list(self._versions(key))
        return versions if every else [versions[0], versions[-1]]

    def _ready(self, *transactional_ids: str) -> None:
        """Wait until these ids have a coordinator and their transactions have ended."""
        self._until(
            lambda answer: all(
                each.error_code not in _NOT_READY and not each.transaction_state.startswith("Prepare")
                for each in answer.transaction_states
            ),
            DescribeTransactionsRequest(transactional_ids),
            0,
        )

    def _until(self, condition: Callable[[Any], object], message: WireMessage, version: int) -> Any:
        for _ in range(_ATTEMPTS):
            answer = self._asker.ask(message, version)
            if answer is not None and condition(answer):
                return answer
            self._asker.wait()
        raise AssertionError(f"it did not come about: {message} {answer}")

    def _topics(self, assigned: dict[str, list[int]]) -> None:
        """Create topics with a partition on each of these brokers, and wait until they have leaders."""
        topics = [
            CreatableTopic(name, -1, -1, [CreatableReplicaAssignment(at, (node,)) for at, node in enumerate(nodes)])
            for name, nodes in assigned.items()
        ]
        answer = self._asker.ask(CreateTopicsRequest(topics, 30_000), 5)
        assert {topic.error_code for topic in answer.topics} == {0}, answer
        for name, nodes in assigned.items():
            for number, node in enumerate(nodes):
                self._led_by(name, number, node)

    def _led_by(self, topic: str, number: int, node_id: int) -> None:
        """Wait until a partition has this leader (-1: none), by the broker's metadata and by its own replica."""

        def leaders(answer: Any) -> list[int]:
            parts = [each for found in answer.topics for each in found.partitions if each.partition_index == number]
            return [each.leader_id for each in parts]

        asked = MetadataRequest([MetadataRequestTopic(name=topic)])
        metadata = self._until(lambda answer: leaders(answer) == [node_id], asked, 12)
        self.ids[topic] = metadata.topics[0].topic_id
        if node_id == self._asker.own_id:
            request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [ListOffsetsPartition(number, -1, -2)])])
            self._until(lambda answer: answer.topics[0].partitions[0].error_code == 0, request, 7)

    def _find(self, name: str, version: int, kind: int, *keys: str) -> None:
        one = {"key": keys[0]} if version < 4 else {"coordinator_keys": keys}
        request = FindCoordinatorRequest(key_type=kind, **one)
        self._step(f"find: {name}", request, version)

    def _init(
        self,
        name: str,
        transactional_id: str | None,
        version: int | None = None,
        producer: Producer | None = None,
        *,
        timeout_ms: int = 60_000,
        **fields: Any,
    ) -> Any:
        version = version if version is not None else min(self._ranges[INIT].highest, 5)
        given = producer or Producer(-1, -1)
        request = InitProducerIdRequest(transactional_id, timeout_ms, given.id, given.epoch, **fields)
        answer = self._step(f"init: {name}", request, version)
        if transactional_id and answer is not None and answer.error_code == 0:
            self.producers[transactional_id] = Producer(answer.producer_id, answer.producer_epoch)
        return answer

    def _new(self, transactional_id: str, version: int | None = None, **fields: Any) -> Producer:
        self._init(f"{transactional_id} is new", transactional_id, version, **fields)
        return self.producers[transactional_id]

    def _add(
        self,
        name: str,
        transactional_id: str,
        *partitions: tuple[str, int],
        version: int = 3,
        producer: Producer | None = None,
        verify_only: bool = False,
    ) -> Any:
        topics = [AddPartitionsToTxnTopic(topic, (number,)) for topic, number in partitions]
        given = producer or self.producers[transactional_id]
        request = (
            AddPartitionsToTxnRequest(transactional_id, given.id, given.epoch, topics)
            if version < 4
            else AddPartitionsToTxnRequest(
                transactions=[
                    AddPartitionsToTxnTransaction(transactional_id, given.id, given.epoch, verify_only, topics)
                ]
            )
        )
        return self._step(f"add: {name}", request, version)

    def _add_offsets(
        self, name: str, transactional_id: str, group: str, *, version: int = 3, producer: Producer | None = None
    ) -> Any:
        given = producer or self.producers[transactional_id]
        request = AddOffsetsToTxnRequest(transactional_id, given.id, given.epoch, group)
        return self._step(f"add offsets: {name}", request, version)

    def _commit_offsets(
        self,
        name: str,
        transactional_id: str,
        group: str,
        *topics: str,
        version: int = 4,
        producer: Producer | None = None,
        offset: int = 5,
        **fields: Any,
    ) -> Any:
        given = producer or self.producers[transactional_id]
        asked = [
            TxnOffsetCommitRequestTopic(
                topic if version < 6 else "",
                self._id(topic) if version >= 6 else bytes(16),
                [TxnOffsetCommitRequestPartition(0, offset, -1, "m")],
            )
            for topic in topics or ("one",)
        ]
        request = TxnOffsetCommitRequest(transactional_id, group, given.id, given.epoch, topics=asked, **fields)
        return self._step(f"commit offsets: {name}", request, version)

    def _end(
        self,
        name: str,
        transactional_id: str,
        *,
        commit: bool = True,
        version: int = 3,
        producer: Producer | None = None,
    ) -> Any:
        given = producer or self.producers[transactional_id]
        request = EndTxnRequest(transactional_id, given.id, given.epoch, commit)
        answer = self._step(f"{'commit' if commit else 'abort'}: {name}", request, version)
        if answer is not None and answer.error_code == 0 and version >= 5 and answer.producer_id >= 0:
            self.producers[transactional_id] = Producer(answer.producer_id, answer.producer_epoch)
        return answer

    def _describe(self, name: str, *transactional_ids: str) -> Any:
        return self._step(f"describe: {name}", DescribeTransactionsRequest(transactional_ids), 0)

    def _list(self, name: str, version: int | None = None, **filters: Any) -> None:
        version = self._ranges[66].highest if version is None else version
        self._step(f"list: {name}", ListTransactionsRequest(**filters), version)

    def _mark(
        self, name: str, *markers: tuple[Producer, bool, str, int, int], version: int, transaction_version: int = 0
    ) -> None:
        """Send markers: producer, whether to commit, topic, partition, the coordinator's epoch."""
        request = WriteTxnMarkersRequest(
            [
                WritableTxnMarker(
                    producer.id,
                    producer.epoch,
                    commit,
                    [WritableTxnMarkerTopic(topic, (number,))],
                    coordinator_epoch,
                    transaction_version if version >= 2 else 0,
                )
                for producer, commit, topic, number, coordinator_epoch in markers
            ]
        )
        self._step(f"markers: {name}", request, version)

    def _produce(
        self,
        name: str,
        transactional_id: str | None,
        *values: bytes,
        sequence: int = 0,
        topic: str = "one",
        number: int = 0,
        version: int = 11,
        producer: Producer | None = None,
        is_transactional: bool = True,
        records: bytes | None = None,
    ) -> Any:
        given = producer or self.producers.get(transactional_id or "", Producer(-1, -1))
        made = [Record(at, TIMESTAMP + at, None, value) for at, value in enumerate(values)]
        data = records or build_batch(
            made,
            base_offset=0,
            producer_id=given.id,
            producer_epoch=given.epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        version = min(version, self._ranges[0].highest)
        asked = TopicProduceData(
            topic if version < 13 else "",
            self._id(topic) if version >= 13 else bytes(16),
            [PartitionProduceData(number, data)],
        )
        request = ProduceRequest(transactional_id, -1, 5000, [asked])
        return self._step(f"produce: {name}", request, version)

    def _fetch(self, name: str, topic: str, number: int = 0, *, is_committed: bool = False, offset: int = 0) -> Any:
        at = FetchPartition(number, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 20,
            isolation_level=int(is_committed),
            topics=[FetchTopic(topic, partitions=[at])],
        )
        return self._step(f"fetch: {name}", request, 12)

    def _all_batches(self, topic: str, number: int) -> Iterator[RecordBatch]:
        offset = 0
        while True:
            at = FetchPartition(number, fetch_offset=offset, partition_max_bytes=1 << 20)
            request = FetchRequest(min_bytes=1, topics=[FetchTopic(topic, partitions=[at])])
            part = self._asker.ask(request, 12).responses[0].partitions[0]
            batches = list(read_batches(memoryview(part.records or b"")))
            if not batches:
                return
            yield from batches
            offset = batches[-1].end_offset

    def _look(self, name: str, topic: str = "one") -> None:
        """Record what the leader of a partition tells of it."""
        for level in (0, 1):
            asked = ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, -1)])
            self._step(f"end for level {level}: {name}", ListOffsetsRequest(-1, level, [asked]), 7)
        self._step(f"producers: {name}", DescribeProducersRequest([TopicRequest(topic, (0,))]), 0)

    def _logs(self) -> None:
        """The records of the state topic, for each id in their order, and the data."""
        written: dict[str, list[str]] = {}
        for number in (0, 1):
            for batch in self._all_batches(STATE_TOPIC, number):
                for record in batch.records():
                    name, told = self._state_record(record)
                    written.setdefault(name, []).append(told)
        self._steps += [{"step": f"state of {name}", "version": 0, "answer": written[name]} for name in sorted(written)]
        for topic, number in (("one", 0), ("one", 1), ("two", 0)):
            self._fetch("all", topic, number, is_committed=True)
