"""Timeouts that abort transactions, and the expiry of transactional ids that nobody uses. In slices.

Source: TransactionCoordinator.abortTimedOutTransactions, TransactionStateManager.removeExpiredTransactionalIds.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.coordinator.runtime.outcome import NOTHING, Outcome
from falkirk.coordinator.transactions.transaction_metadata import TWO_PHASE_TIMEOUT_MS
from falkirk.coordinator.transactions.transaction_records import tombstone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.coordinator.transactions.context import TransactionContext
    from falkirk.coordinator.transactions.endings import Endings
    from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
    from falkirk.coordinator.transactions.transaction_store import TransactionStore

IDS_AT_ONCE: Final = 2_000
"""How many ids are looked at in one slice: about a millisecond."""
TOMBSTONES_AT_ONCE: Final = 250
_ABORT: Final = "abort-timed-out-transactions"
_REMOVE: Final = "remove-expired-transactional-ids"
_EXPIRING: Final = frozenset(
    {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
)


class TransactionTimers:
    """Two timers that start their work anew after each interval."""

    def __init__(self, context: TransactionContext, store: TransactionStore, endings: Endings) -> None:
        self._context = context
        self._store = store
        self._endings = endings

    def start(self) -> None:
        """Start both timers."""
        settings = self._context.settings
        now_ms = self._context.now_ms
        self._context.timers.schedule(
            _ABORT, now_ms + settings.abort_timed_out_transaction_cleanup_interval_ms, self._begin_aborts
        )
        self._context.timers.schedule(
            _REMOVE, now_ms + settings.remove_expired_transaction_cleanup_interval_ms, self._begin_removals
        )

    def _begin_aborts(self) -> Outcome:
        interval_ms = self._context.settings.abort_timed_out_transaction_cleanup_interval_ms
        self._context.timers.schedule(_ABORT, self._context.now_ms + interval_ms, self._begin_aborts)
        return self._abort(iter(list(self._store.ongoing)))

    def _abort(self, ids: Iterator[str]) -> Outcome:
        """Abort the next transaction that has timed out; the others follow in later slices."""
        for number, transactional_id in enumerate(ids, 1):
            metadata = self._store.get(transactional_id)
            if metadata is not None and self._is_timed_out(metadata):
                self._context.slices[_ABORT] = partial(self._abort, ids)
                return self._endings.fence(metadata)
            if number == IDS_AT_ONCE:
                self._context.slices[_ABORT] = partial(self._abort, ids)
                break
        return NOTHING

    def _is_timed_out(self, metadata: TransactionMetadata) -> bool:
        is_open = metadata.state is TransactionState.ONGOING and metadata.timeout_ms != TWO_PHASE_TIMEOUT_MS
        return is_open and metadata.start_timestamp_ms + metadata.timeout_ms < self._context.now_ms

    def _begin_removals(self) -> Outcome:
        interval_ms = self._context.settings.remove_expired_transaction_cleanup_interval_ms
        self._context.timers.schedule(_REMOVE, self._context.now_ms + interval_ms, self._begin_removals)
        return self._remove(iter(self._store.ids()))

    def _remove(self, ids: Iterator[str]) -> Outcome:
        oldest_ms = self._context.now_ms - self._context.settings.transactional_id_expiration_ms
        expired = []
        looked_at = 0
        for transactional_id in islice(ids, IDS_AT_ONCE):
            looked_at += 1
            metadata = self._store.get(transactional_id)
            is_idle = metadata is not None and metadata.state in _EXPIRING
            if metadata is not None and is_idle and metadata.last_update_timestamp_ms <= oldest_ms:
                expired.append(tombstone(transactional_id))
                if len(expired) == TOMBSTONES_AT_ONCE:
                    break
        if looked_at:
            self._context.slices[_REMOVE] = partial(self._remove, ids)
        return Outcome(records=expired)
