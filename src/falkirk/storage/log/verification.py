"""Transactions that a leader verifies with their coordinator before it appends their first records (KIP-890, part 1).

Source: VerificationStateEntry, ProducerStateManager.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

UNVERIFIED: Final = 0
"""The guard of records whose transaction was not verified: it must be open already."""
VERIFICATION_OFF: Final = -1
"""The guard of records whose transaction need not be verified (transaction.partition.verification.enable)."""


@dataclass(slots=True)
class Verification:
    """A verification that has begun and is not used yet.

    `lowest_sequence`: of the batches of this epoch that asked for it; a higher one must not be appended before it.
    """

    guard: int
    began_ms: int
    epoch: int
    lowest_sequence: int
    adds_partitions: bool


class Verifications:
    """The verifications of one log by producer id.

    A guard is for one use: whatever ends the verification in between, a marker above all, makes it worthless.
    """

    def __init__(self) -> None:
        self._by_producer: dict[int, Verification] = {}
        self._last_guard = UNVERIFIED

    def begin(self, producer_id: int, epoch: int, sequence: int, now_ms: int, *, adds_partitions: bool) -> int:
        """Begin a verification, or join the one that is under way; return its guard."""
        found = self._by_producer.get(producer_id)
        if found is None:
            self._last_guard += 1
            found = Verification(self._last_guard, now_ms, epoch, sequence, adds_partitions)
            self._by_producer[producer_id] = found
        elif epoch > found.epoch:
            found.epoch, found.lowest_sequence = epoch, sequence
        elif epoch == found.epoch:
            found.lowest_sequence = min(found.lowest_sequence, sequence)
        return found.guard

    def of(self, producer_id: int) -> Verification | None:
        """Return the verification of a producer that is under way."""
        return self._by_producer.get(producer_id)

    def end(self, producer_id: int, epoch: int, *, is_marker: bool) -> None:
        """Forget a producer: its transaction is open now, or over.

        With transaction.version 2 a marker has the epoch of the transaction that comes next: that goes on.
        """
        found = self._by_producer.get(producer_id)
        if found is None or (is_marker and found.adds_partitions and found.epoch >= epoch):
            return
        del self._by_producer[producer_id]

    def clear(self) -> None:
        """Forget all, for another leadership: guards stay unique."""
        self._by_producer.clear()

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Forget verifications that nobody has come back to."""
        for producer_id, found in list(self._by_producer.items()):
            if now_ms - found.began_ms >= expiration_ms:
                del self._by_producer[producer_id]
