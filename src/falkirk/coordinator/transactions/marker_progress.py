"""The markers of decided transactions: which partitions still lack theirs, and the record after the last one.

Source: TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.coordinator.runtime.outcome import NOTHING, Outcome
from falkirk.coordinator.transactions.transaction_metadata import completed
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.coordinator.runtime.outcome import Reply
    from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers
    from falkirk.coordinator.transactions.context import TransactionContext
    from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
    from falkirk.coordinator.transactions.transaction_store import TransactionStore
    from falkirk.protocol.topic_partition import TopicPartition

COMPLETION_RETRY_MS: Final = 500
"""How long to wait after the log refused the record of a completed transaction (too few in-sync replicas)."""
_WRITTEN: Final = frozenset({ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION})
_ABANDONED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})


class MarkerProgress:
    """Completes transactions whose partitions all have their marker."""

    def __init__(self, context: TransactionContext, store: TransactionStore) -> None:
        self._context = context
        self._store = store

    def markers_written(self, markers: TransactionMarkers, results: Mapping[TopicPartition, ErrorCode]) -> Outcome:
        """Apply the results of partitions, each NONE or an error of WriteTxnMarkers.

        Returns the markers to be sent again, or the record that completes the transaction. A partition that refuses the
        epoch of the producer or the coordinator ends the attempt, as in Kafka: another coordinator has taken over.
        """
        metadata = self._store.get(markers.transactional_id)
        if metadata is None or not _is_current(metadata, markers) or not _ABANDONED.isdisjoint(results.values()):
            return NOTHING
        unmarked = self._store.unmarked[metadata.transactional_id]
        unmarked.difference_update(each for each, error in results.items() if error in _WRITTEN)
        if not unmarked:
            return self._complete(metadata.transactional_id)
        retried = tuple(sorted(unmarked.intersection(results)))
        return Outcome(markers=(self._again(markers, retried),)) if retried else NOTHING

    def partitions_deleted(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Skip the markers of deleted partitions; transactions that lack no other are completed by a timer."""
        deleted = set(partitions)
        for transactional_id, unmarked in self._store.unmarked.items():
            if unmarked.isdisjoint(deleted):
                continue
            unmarked.difference_update(deleted)
            if not unmarked:
                self._complete_at(transactional_id, self._context.now_ms)

    def _again(self, markers: TransactionMarkers, partitions: tuple[TopicPartition, ...]) -> TransactionMarkers:
        return replace(markers, coordinator_epoch=self._context.coordinator_epoch, partitions=partitions)

    def _complete(self, transactional_id: str) -> Outcome:
        metadata = self._store.get(transactional_id)
        if metadata is None or not metadata.is_prepared or self._store.unmarked[transactional_id]:
            return NOTHING
        return self._store.write(
            completed(metadata, self._context.now_ms), on_refused=partial(self._refused, transactional_id)
        )

    def _complete_at(self, transactional_id: str, due_ms: int) -> None:
        self._context.timers.schedule(f"complete-{transactional_id}", due_ms, partial(self._complete, transactional_id))

    def _refused(self, transactional_id: str, error: ErrorCode) -> Sequence[Reply]:  # noqa: ARG002
        self._complete_at(transactional_id, self._context.now_ms + COMPLETION_RETRY_MS)
        return ()


def _is_current(metadata: TransactionMetadata, markers: TransactionMarkers) -> bool:
    """Return whether the markers are those of the decision that is to be carried out."""
    is_same = (metadata.producer_id, metadata.producer_epoch) == (markers.producer_id, markers.producer_epoch)
    return metadata.is_prepared and is_same
