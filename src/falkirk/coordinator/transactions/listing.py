"""DescribeTransactions and ListTransactions: the states of transactional ids. KIP-664, KIP-994, KIP-1152."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.patterns.topic_matcher import TopicMatcher
from falkirk.coordinator.records.transaction_state import STATES_BY_NAME
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.describe_transactions_response import TopicData
from falkirk.protocol.messages.describe_transactions_response import TransactionState as DescribedTransaction
from falkirk.protocol.topic_partition import by_topic
from falkirk.slices import SliceBudget

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
    from falkirk.coordinator.transactions.transaction_store import TransactionStore
    from falkirk.protocol.messages import ListTransactionsRequest
    from falkirk.slices import Slices

_ASCII: Final = frozenset(map(chr, range(128)))
_OTHER: Final = "\uffff"
# Of a slice's visits: an id is read character by character.
_VISITS_PER_MATCH: Final = 10


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


def listed(
    transactions: Iterable[TransactionMetadata], request: ListTransactionsRequest, now_ms: int
) -> Slices[list[TransactionMetadata]]:
    """Return those that pass all filters of a request, in slices; a filter that is not there lets all pass.

    Duration: the last transaction began more than that ago (ms); an id without one counts as very old, as in Kafka.
    Raises TopicPatternError for a pattern that is no regular expression, or needs too much work.
    """
    states = frozenset(STATES_BY_NAME[name] for name in request.state_filters if name in STATES_BY_NAME)
    producer_ids = frozenset(request.producer_id_filters)
    pattern = _IdPattern(request.transactional_id_pattern) if request.transactional_id_pattern else None

    def passes(metadata: TransactionMetadata) -> bool:
        if producer_ids and metadata.producer_id not in producer_ids:
            return False
        if request.state_filters and metadata.state not in states:
            return False
        duration_ms = now_ms - metadata.start_timestamp_ms
        if request.duration_filter >= 0 and duration_ms <= request.duration_filter:
            return False
        return pattern is None or pattern.matches(metadata.transactional_id)

    found, budget = [], SliceBudget()
    visits = 1 if pattern is None else _VISITS_PER_MATCH
    for metadata in transactions:
        if passes(metadata):
            found.append(metadata)
        if budget.spend(visits):
            yield
    return found


class _IdPattern:
    """A pattern that matches transactional ids as a whole, all in bounded time. Raises TopicPatternError.

    Differs from Kafka: the syntax is RE2's. Characters beyond ASCII that are not in the pattern are all alike.
    """

    def __init__(self, pattern: str) -> None:
        self._alphabet = _ASCII.union(pattern, _OTHER)
        self._matcher = TopicMatcher.compiled(pattern, self._alphabet)

    def matches(self, transactional_id: str) -> bool:
        alphabet = self._alphabet
        return self._matcher.matches("".join(each if each in alphabet else _OTHER for each in transactional_id))
