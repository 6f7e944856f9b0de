"""Transactions that a cleaner has come across, and which of their batches may go."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from falkirk.storage.producer_state import transaction_marker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.transaction_index import AbortedTransaction


class CleanedTransactions:
    """Receives all batches in offset order. Source: CleanedTransactionMetadata.

    `marker_kept` is called with aborted transactions whose markers stay because some of their data does.
    """

    def __init__(self, marker_kept: Callable[[AbortedTransaction], None]) -> None:
        self.marker_kept = marker_kept
        self._coming: list[tuple[int, int, int, AbortedTransaction]] = []
        # By producer, and whether data of it was seen.
        self._aborted: dict[int, tuple[AbortedTransaction, bool]] = {}
        self._committed: set[int] = set()

    def add(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Add aborted transactions that the following batches may belong to; repeating one does no harm."""
        for each in aborted:
            heapq.heappush(self._coming, (each.first_offset, each.last_offset, each.producer_id, each))

    def is_discardable(self, batch: RecordBatch) -> bool:
        """Return whether a batch may go as far as transactions are concerned.

        Data of an aborted transaction may; a marker, once nothing of its transaction is left before it. Raises
        RemoteProtocolError for a producer's control batch without a marker.
        """
        while self._coming and self._coming[0][0] <= batch.last_offset:
            transaction = heapq.heappop(self._coming)[-1]
            self._aborted.setdefault(transaction.producer_id, (transaction, False))
        if batch.is_control:
            return self._is_marker_discardable(batch)
        if not batch.is_transactional:
            return False
        aborted = self._aborted.get(batch.producer_id)
        if aborted is None:
            self._committed.add(batch.producer_id)
            return False
        self._aborted[batch.producer_id] = (aborted[0], True)
        return True

    def _is_marker_discardable(self, batch: RecordBatch) -> bool:
        if batch.producer_id < 0:
            return not batch.record_count
        marker = transaction_marker(batch)
        if marker is None:
            # Empty: an earlier round cleaned it.
            return True
        if not marker.is_aborted:
            is_seen = batch.producer_id in self._committed
            self._committed.discard(batch.producer_id)
            return not is_seen
        transaction, is_seen = self._aborted.pop(batch.producer_id, (None, False))
        if transaction is not None and is_seen:
            self.marker_kept(transaction)
            return False
        return True
