"""One partition of `__transaction_state` at its leader: requests in, records, responses and markers out.

shard = TransactionCoordinatorShard(context)
loader = TransactionLoader(shard)                         # replays the log; then
outcome = exhaust(shard.loaded())                         # has the markers of transactions that are decided
context.now_ms = now_ms
outcome = shard.end_transaction(client, request, token)   # an Outcome: `outcome.py` says how to handle it
shard.replay(record, data, offset=17, producer=None)      # as soon as a record of it has an offset
outcome = shard.markers_written(markers, results)         # for each answer to WriteTxnMarkers
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.runtime.kept_tags import KeptTags
from falkirk.coordinator.runtime.outcome import NOTHING, Outcome, Reply
from falkirk.coordinator.transactions.added_partitions import AddedPartitions
from falkirk.coordinator.transactions.endings import Endings
from falkirk.coordinator.transactions.initialization import Initialization
from falkirk.coordinator.transactions.listing import described
from falkirk.coordinator.transactions.marker_progress import MarkerProgress
from falkirk.coordinator.transactions.transaction_store import TransactionStore
from falkirk.coordinator.transactions.transaction_timers import TransactionTimers
from falkirk.protocol.messages import DescribeTransactionsResponse, TransactionLogKey, TransactionLogValue

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Mapping, Sequence

    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord, KeyAndValue, Producer, Token
    from falkirk.coordinator.runtime.topics import Topics
    from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers
    from falkirk.coordinator.transactions.context import TransactionContext
    from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.messages import (
        AddOffsetsToTxnRequest,
        EndTxnRequest,
        InitProducerIdRequest,
    )
    from falkirk.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnTransaction
    from falkirk.protocol.topic_partition import TopicPartition

MARKERS_AT_ONCE: Final = 500
"""How many transactions of a loaded log get their markers in one slice."""


class TransactionCoordinatorShard:
    """Replies are whole responses, except for AddPartitionsToTxn and DescribeTransactions. Throttle times are 0.

    For AddPartitionsToTxn a reply is one transaction's AddPartitionsToTxnResult; for DescribeTransactions a response
    with the ids that were asked for. Error codes are those that the request's version knows.
    """

    def __init__(self, context: TransactionContext) -> None:
        self.context = context
        self.store = TransactionStore(context)
        self._kept_tags = KeptTags()
        self._endings = Endings(context, self.store)
        self._initialization = Initialization(context, self.store, self._endings)
        self._partitions = AddedPartitions(context, self.store)
        self._markers = MarkerProgress(context, self.store)
        self._timers = TransactionTimers(context, self.store, self._endings)

    # --- Producers

    def init_producer_id(self, client: ClientContext, request: InitProducerIdRequest, token: Token) -> Outcome:
        """Answer InitProducerId of a transactional id with an InitProducerIdResponse."""
        return self._initialization.init_producer_id(client, request, token)

    def add_partitions(
        self, client: ClientContext, transaction: AddPartitionsToTxnTransaction, token: Token
    ) -> Outcome:
        """Answer one transaction of AddPartitionsToTxn with its AddPartitionsToTxnResult; `verify_only` writes nothing.

        The request's v0 to v3 have one transaction, without `verify_only`. Its partitions exist and are authorized.
        """
        return self._partitions.add_partitions(client, transaction, token)

    def add_offsets(
        self, client: ClientContext, request: AddOffsetsToTxnRequest, partition: TopicPartition, token: Token
    ) -> Outcome:
        """Answer AddOffsetsToTxn; `partition`: that of `__consumer_offsets` which has the request's group."""
        return self._partitions.add_offsets(client, request, partition, token)

    def end_transaction(self, client: ClientContext, request: EndTxnRequest, token: Token) -> Outcome:
        """Answer EndTxn with an EndTxnResponse."""
        return self._endings.end_transaction(client, request, token)

    # --- Operators

    def describe_transactions(self, transactional_ids: Iterable[str], token: Token) -> Outcome:
        """Answer ids of DescribeTransactions with a DescribeTransactionsResponse."""
        states = [described(self.store, transactional_id) for transactional_id in transactional_ids]
        return Outcome(replies=(Reply(token, DescribeTransactionsResponse(transaction_states=states)),))

    def transactions(self) -> Sequence[TransactionMetadata]:
        """Return the states of all ids as they are now."""
        return tuple(self.store.all())

    # --- Markers

    def markers_written(self, markers: TransactionMarkers, results: Mapping[TopicPartition, ErrorCode]) -> Outcome:
        """Apply the results of some or all partitions of markers that an outcome asked for.

        The outcome's markers are those to be sent again, after a pause. A partition that is in no image counts as NONE.
        """
        return self._markers.markers_written(markers, results)

    # --- The log, and the cluster

    def replay(self, record: CoordinatorRecord, data: KeyAndValue, *, offset: int, producer: Producer | None) -> None:  # noqa: ARG002
        """Replay a record that was written."""
        self.replay_loaded(record)

    def replay_loaded(self, record: CoordinatorRecord) -> None:
        """Replay a record. Raises ValueError for an unknown state."""
        key, value = record.key, record.value
        assert isinstance(key, TransactionLogKey), "the topic has no other records"
        assert value is None or isinstance(value, TransactionLogValue), "a key's own value"
        self._kept_tags.replay(key, value)
        self.store.replay(key.transactional_id, value)

    def as_written(self, records: Sequence[CoordinatorRecord]) -> Sequence[CoordinatorRecord]:
        """Return an outcome's records as they are to be written and replayed: see KeptTags."""
        return self._kept_tags.restore(records)

    def loaded(self) -> Generator[None, None, Outcome]:
        """Begin to coordinate: start the timers, and send the markers of decided transactions, some in each slice."""
        markers = []
        for number, transactional_id in enumerate(list(self.store.unmarked), 1):
            metadata = self.store.get(transactional_id)
            assert metadata is not None, "it is decided"
            markers.append(self._endings.markers_of(metadata))
            if number % MARKERS_AT_ONCE == 0:
                yield
        self._timers.start()
        return Outcome(markers=markers)

    def topics_changed(self, topics: Topics, changed: Collection[str]) -> Outcome:  # noqa: ARG002
        """Apply a newer image: transactions do not depend on what topics have."""
        return NOTHING

    def partitions_deleted(self, partitions: Iterable[tuple[str, int]]) -> Outcome:
        """Skip the markers of deleted partitions."""
        self._markers.partitions_deleted(partitions)
        return NOTHING
