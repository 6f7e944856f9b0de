"""A cluster of ours that coordinates transactions: GroupCluster, with transactional producers.

cluster = TransactionCluster(brokers=1)
cluster.create("t", factor=1)
producer = cluster.producer("tx")       # InitProducerId
producer.add(("t", 0))                  # AddPartitionsToTxn
producer.write("t", b"one")
producer.end(is_commit=True)
cluster.run_until(cluster.is_idle)
cluster.committed("t") == [b"one"]      # what a consumer with READ_COMMITTED gets
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from group_cluster import GroupCluster

from falkirk.node.broker.coordinator_runtime.coordinator_runtime import abs_hash
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    FetchRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
)
from falkirk.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnTopic
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.protocol.topic_partition import by_topic
from falkirk.versions.api_support import Listener
from falkirk.versions.release import TRANSACTION_STATE, Release

if TYPE_CHECKING:
    from falkirk.node.broker.coordinator_runtime.hosted_shard import HostedShard
    from falkirk.node.broker.transaction_coordinator.transaction_coordinator import TransactionCoordinator
    from falkirk.protocol.schema import WireMessage

TRANSACTION = 1
READ_COMMITTED = 1


class TransactionCluster(GroupCluster):
    """`__transaction_state` has `state_partitions`, with three replicas as far as there are brokers."""

    def __init__(
        self,
        *,
        state_partitions: int = 2,
        brokers: int = 3,
        release: str = "4.3",
        properties: dict[str, str] | None = None,
        **settings: Any,
    ) -> None:
        own = {
            "transaction.state.log.num.partitions": str(state_partitions),
            "transaction.state.log.replication.factor": str(min(brokers, 3)),
            "transaction.state.log.min.isr": "1",
        }
        super().__init__(brokers=brokers, release=release, properties={**own, **(properties or {})}, **settings)
        self.state_partitions = state_partitions
        self._ranges = Release.parse(release).api_ranges(Listener.BROKER)

    def version(self, request: type[WireMessage], version_max: int) -> int:
        """Return the highest version of a request that the release serves, up to a limit."""
        key = request.SCHEMA.info.key
        assert key is not None, "a request"
        return min(version_max, self._ranges[key].highest)

    def transactions(self, broker: int) -> TransactionCoordinator:
        """Return a broker's transaction coordinator."""
        role = self.network.hosts[broker].running.broker
        assert role is not None
        return role.transactions

    def transaction_partition(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` of an id."""
        return abs_hash(transactional_id) % self.state_partitions

    def transaction_host(self, broker: int, transactional_id: str) -> HostedShard[Any] | None:
        """Return a broker's hosted shard for an id, if it leads it."""
        return self.transactions(broker).hosts.get(self.transaction_partition(transactional_id))

    def transaction_coordinator(self, transactional_id: str) -> int:
        """Find an id's coordinator, waiting until it is active; return the broker id."""
        answer: Any = None

        def is_found() -> bool:
            nonlocal answer
            request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=(transactional_id,))
            (answer,) = self.client(self.up[0]).ask(request, 4).coordinators
            if answer.error_code or not self.is_running(answer.node_id):
                self.run(100)
                return False
            host = self.transaction_host(answer.node_id, transactional_id)
            return host is not None and host.shard is not None

        self.run_until(is_found)
        return int(answer.node_id)

    def ask_transaction(
        self, transactional_id: str, request: WireMessage, version: int, *, broker: int | None = None
    ) -> Any:
        """Send a request to the coordinator of an id, or to another broker."""
        asked = self.transaction_coordinator(transactional_id) if broker is None else broker
        return self.client(asked).ask(request, version)

    def producer(self, transactional_id: str, **how: Any) -> Producer:
        """Return an initialized producer."""
        made = Producer(self, transactional_id, **how)
        self.run_until(lambda: made.init() is ErrorCode.NONE)
        return made

    def describe(self, transactional_id: str) -> Any:
        """Return the TransactionState of a DescribeTransactions response."""
        request = DescribeTransactionsRequest((transactional_id,))
        return self.ask_transaction(transactional_id, request, 0).transaction_states[0]

    def listed(self, **filters: Any) -> dict[str, str]:
        """Return the state of each id that some broker lists."""
        version = self.version(ListTransactionsRequest, 2)
        answers = [self.client(broker).ask(ListTransactionsRequest(**filters), version) for broker in self.up]
        return {each.transactional_id: each.transaction_state for one in answers for each in one.transaction_states}

    def is_idle(self) -> bool:
        """True if no transaction is open or waits for markers."""
        return all(state in {"Empty", "CompleteCommit", "CompleteAbort"} for state in self.listed().values())

    def move_transaction(self, transactional_id: str) -> int:
        """Kill the coordinator of an id; return the next one."""
        index = self.transaction_partition(transactional_id)
        old = self.transaction_coordinator(transactional_id)
        self.kill(old)
        others = [broker for broker in self.brokers if broker != old]
        self.wait_for_leader(TRANSACTION_STATE, *others, index=index)
        return self.transaction_coordinator(transactional_id)

    def committed(self, topic: str, index: int = 0) -> list[bytes | None]:
        """Return the values that a consumer with READ_COMMITTED gets, up to the last stable offset."""
        leader = self.wait_for_leader(topic, *self.brokers, index=index)
        topic_id = self.network.hosts[leader].running.image.topics.by_name[topic].topic_id
        wanted = FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=2**24)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=0, isolation_level=READ_COMMITTED, topics=[FetchTopic(topic, topic_id, [wanted])]
        )
        data = self.client(leader).ask(request, 13).responses[0].partitions[0]
        assert not data.error_code, ErrorCode(data.error_code)
        aborted = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
        ignored: set[int] = set()
        values: list[bytes | None] = []
        for batch in read_batches(bytes(data.records or b"")):
            while aborted and aborted[0][0] <= batch.last_offset:
                ignored.add(aborted.pop(0)[1])
            if batch.is_control:
                ignored.discard(batch.producer_id)
            elif batch.producer_id not in ignored:
                values += [record.value for record in batch.records()]
        return values


class Producer:
    """A transactional producer. Each request returns its error; requests are not repeated.

    `is_version_2`: with transaction.version 2 partitions need no `add`, and each transaction has its epoch.
    """

    def __init__(
        self,
        cluster: TransactionCluster,
        transactional_id: str,
        *,
        timeout_ms: int = 60_000,
        is_version_2: bool = False,
    ) -> None:
        self.cluster = cluster
        self.is_version_2 = is_version_2
        self.transactional_id = transactional_id
        self.timeout_ms = timeout_ms
        self.producer_id = self.epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}

    def init(self) -> ErrorCode:
        """Send InitProducerId."""
        request = InitProducerIdRequest(self.transactional_id, self.timeout_ms)
        answer = self._ask(request, 4)
        if not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self._sequences.clear()
        return ErrorCode(answer.error_code)

    def add(self, *partitions: tuple[str, int]) -> ErrorCode:
        """Send AddPartitionsToTxn; return the error of the first partition."""
        topics = [AddPartitionsToTxnTopic(name, tuple(each)) for name, each in by_topic(partitions).items()]  # type: ignore[arg-type]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=topics,
        )
        answer = self._ask(request, 3)
        return ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    def write(self, topic: str, *values: bytes, index: int = 0) -> None:
        """Produce a batch of the transaction to the leader."""
        assert self.try_write(topic, *values, index=index) is ErrorCode.NONE

    def try_write(self, topic: str, *values: bytes, index: int = 0, version: int | None = None) -> ErrorCode:
        """Produce a batch of the transaction to the leader; return its error. `version`: of Produce."""
        cluster = self.cluster
        leader = cluster.wait_for_leader(topic, *cluster.brokers, index=index)
        first = self._sequences.get((topic, index), 0)
        records = [Record(place, cluster.network.now_ms, None, value, ()) for place, value in enumerate(values)]
        batch = build_batch(
            records,
            base_offset=0,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=first,
            is_transactional=True,
        )
        topics = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index, batch)])]
        client = cluster.client(leader)
        version = version or (12 if self.is_version_2 else 9)
        sent = client.send(ProduceRequest(self.transactional_id, -1, 30_000, topics), version)
        cluster.run_until(lambda: sent in client.answers)
        error = ErrorCode(client.answers[sent].responses[0].partition_responses[0].error_code)
        if error is ErrorCode.NONE:
            self._sequences[topic, index] = first + len(values)
        return error

    def commit_offset(self, group_id: str, topic: str, offset: int, *, partitions: int = 1) -> ErrorCode:
        """Send AddOffsetsToTxn and TxnOffsetCommit, the same offset for each partition; return the first error."""
        request = AddOffsetsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, group_id)
        error = ErrorCode(self._ask(request, 3).error_code)
        if error is not ErrorCode.NONE:
            return error
        committed = [TxnOffsetCommitRequestPartition(index, offset) for index in range(partitions)]
        topics = [TxnOffsetCommitRequestTopic(topic, partitions=committed)]
        commit = TxnOffsetCommitRequest(self.transactional_id, group_id, self.producer_id, self.epoch, topics=topics)
        answer = self.cluster.ask(group_id, commit, 3)
        errors = [each.error_code for each in answer.topics[0].partitions]
        assert len(errors) == partitions
        return ErrorCode(next(filter(None, errors), 0))

    def end(self, *, is_commit: bool) -> ErrorCode:
        """Send EndTxn."""
        request = EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, is_commit)
        answer = self._ask(request, 5 if self.is_version_2 else 3)
        if self.is_version_2 and not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self._sequences.clear()
        return ErrorCode(answer.error_code)

    def _ask(self, request: WireMessage, version: int) -> Any:
        return self.cluster.ask_transaction(self.transactional_id, request, version)
