"""DescribeTransactions and ListTransactions: the states of transactional ids. KIP-664, KIP-994, KIP-1152."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.patterns.topic_matcher import TopicMatcher
from falkirk.coordinator.records.transaction_state import STATES_BY_NAME
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.describe_transactions_response import TopicData
from falkirk.protocol.messages.describe_transactions_response import TransactionState as DescribedTransaction
from falkirk.protocol.messages.list_transactions_response import TransactionState as ListedTransaction
from falkirk.protocol.topic_partition import by_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
    from falkirk.coordinator.transactions.transaction_store import TransactionStore
    from falkirk.protocol.messages import ListTransactionsRequest

_ASCII: Final = frozenset(map(chr, range(128)))
_OTHER: Final = "\uffff"


def described(store: TransactionStore, transactional_id: str) -> DescribedTransaction:
    """Return an id's part of a DescribeTransactionsResponse; its partitions as long as they are in a transaction."""
    metadata = store.get(transactional_id)
    if not transactional_id:
        return DescribedTransaction(ErrorCode.INVALID_REQUEST, transactional_id)
    if metadata is None:
        return DescribedTransaction(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id)
    # Kafka drops partitions whose marker is written.
    partitions = store.unmarked.get(transactional_id, metadata.partitions)
    return DescribedTransaction(
        transactional_id=transactional_id,
        transaction_state=metadata.state.state_name,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.start_timestamp_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        topics=[TopicData(topic, tuple(indexes)) for topic, indexes in by_topic(partitions).items()],
    )


def unknown_state_filters(request: ListTransactionsRequest) -> tuple[str, ...]:
    """Return the filters of a request that are no states, as its response names them."""
    return tuple(name for name in dict.fromkeys(request.state_filters) if name not in STATES_BY_NAME)


def listed(store: TransactionStore, request: ListTransactionsRequest, now_ms: int) -> Sequence[ListedTransaction]:
    """Return the transactional ids that pass all filters of a request; a filter that is not there lets all pass.

    Duration: the last transaction began more than that ago (ms); an id without one counts as very old, as in Kafka.
    Raises TopicPatternError for a pattern that is no regular expression, or needs too much work.
    """
    states = frozenset(STATES_BY_NAME[name] for name in request.state_filters if name in STATES_BY_NAME)
    producer_ids = frozenset(request.producer_id_filters)

    def passes(metadata: TransactionMetadata) -> bool:
        if producer_ids and metadata.producer_id not in producer_ids:
            return False
        if request.state_filters and metadata.state not in states:
            return False
        duration_ms = now_ms - metadata.start_timestamp_ms
        return request.duration_filter < 0 or duration_ms > request.duration_filter

    found = [metadata for metadata in store.all() if passes(metadata)]
    if request.transactional_id_pattern:
        matching = _matching(request.transactional_id_pattern, (each.transactional_id for each in found))
        found = [metadata for metadata in found if metadata.transactional_id in matching]
    return [
        ListedTransaction(metadata.transactional_id, metadata.producer_id, metadata.state.state_name)
        for metadata in found
    ]


def _matching(pattern: str, ids: Iterable[str]) -> frozenset[str]:
    """Return the ids that a pattern matches as a whole, in bounded time. Raises TopicPatternError.

    Differs from Kafka: the syntax is RE2's. Characters beyond ASCII that are not in the pattern are all alike.
    """
    alphabet = _ASCII.union(pattern, _OTHER)
    written = {id_: "".join(each if each in alphabet else _OTHER for each in id_) for id_ in ids}
    found = TopicMatcher.compiled(pattern, alphabet).matching(set(written.values()))
    return frozenset(id_ for id_, text in written.items() if text in found)
