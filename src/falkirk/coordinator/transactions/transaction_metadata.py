"""The state of one transactional id, and the steps that lead from one to the next.

    Empty ── Ongoing ── PrepareCommit ── CompleteCommit ── Ongoing, or Empty with the next epoch
                └────── PrepareAbort ─── CompleteAbort

Every step is one record of `__transaction_state`. Source: KIP-98, KIP-360, KIP-890; TransactionMetadata.
Differs from Kafka: there is no pending state. A step counts as soon as it is written, and its response waits until it
is committed. Dead (a tombstone) and PrepareEpochFence (the first half of a step that ends in PrepareAbort) are no
states here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.protocol.topic_partition import TopicPartition

EPOCH_MAX: Final = 2**15 - 1
NO_TIMESTAMP: Final = -1
NO_PARTITIONS: Final[frozenset[TopicPartition]] = frozenset()
"""One for all: every other empty frozenset is an object of 216 bytes, which the garbage collector visits."""
EPOCH_BUMP_VERSION: Final = 2
"""The transaction.version from which on every transaction has an epoch of its own."""
TWO_PHASE_TIMEOUT_MS: Final = 2**31 - 1
"""The timeout of a transaction that an external coordinator ends (KIP-939): it never times out."""
_PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})


class TransactionMetadata(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`last_producer_epoch` is in no record: a shard that is loaded again does not know it, as in Kafka.

    `next_producer_id`: while a transaction ends that uses up the epochs of its id. `client_transaction_version`: that
    with which the transaction began or ended.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    last_update_timestamp_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: "frozenset[TopicPartition]" = NO_PARTITIONS
    start_timestamp_ms: int = NO_TIMESTAMP
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    client_transaction_version: int = 0

    @property
    def is_prepared(self) -> bool:
        """True while the markers are written: the outcome is decided, and all requests have to wait."""
        return self.state in _PREPARED

    @property
    def is_epoch_exhausted(self) -> bool:
        """True if the producer id has no more epoch for a producer: the last one is kept to fence it."""
        return is_epoch_exhausted(self.producer_epoch)


def is_epoch_exhausted(epoch: int) -> bool:
    """Return whether an epoch is the last that a producer gets, or the one above it."""
    return epoch >= EPOCH_MAX - 1


def supports_epoch_bump(transaction_version: int) -> bool:
    """Return whether every transaction has an epoch of its own at this transaction.version."""
    return transaction_version >= EPOCH_BUMP_VERSION


def initialized(
    metadata: TransactionMetadata, *, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int
) -> TransactionMetadata:
    """Return the empty state that InitProducerId leads to, with the same producer id."""
    return replace(
        metadata,
        previous_producer_id=metadata.producer_id,
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        timeout_ms=timeout_ms,
        state=TransactionState.EMPTY,
        partitions=NO_PARTITIONS,
        start_timestamp_ms=NO_TIMESTAMP,
        last_update_timestamp_ms=now_ms,
    )


def rotated(
    metadata: TransactionMetadata, *, producer_id: int, last_epoch: int, timeout_ms: int, now_ms: int
) -> TransactionMetadata:
    """Return the empty state with a new producer id, whose epochs begin at 0."""
    empty = initialized(metadata, epoch=0, last_epoch=last_epoch, timeout_ms=timeout_ms, now_ms=now_ms)
    return replace(empty, producer_id=producer_id)


def with_partitions(
    metadata: TransactionMetadata, added: Iterable[TopicPartition], *, client_transaction_version: int, now_ms: int
) -> TransactionMetadata:
    """Return the ongoing transaction with more partitions; it starts now unless it is ongoing."""
    is_ongoing = metadata.state is TransactionState.ONGOING
    return replace(
        metadata,
        previous_producer_id=metadata.producer_id,
        state=TransactionState.ONGOING,
        partitions=metadata.partitions.union(added),
        start_timestamp_ms=metadata.start_timestamp_ms if is_ongoing else now_ms,
        last_update_timestamp_ms=now_ms,
        client_transaction_version=client_transaction_version,
    )


def prepared(
    metadata: TransactionMetadata,
    *,
    is_commit: bool,
    client_transaction_version: int,
    next_producer_id: int,
    now_ms: int,
    has_partitions: bool = True,
) -> TransactionMetadata:
    """Return the decided transaction. With transaction.version 2 the epoch is raised with it.

    `has_partitions`: False for the abort of a transaction that never began, which starts and ends now.
    """
    is_bumped = supports_epoch_bump(client_transaction_version)
    epoch = metadata.producer_epoch
    return replace(
        metadata,
        previous_producer_id=metadata.producer_id,
        next_producer_id=next_producer_id,
        # The highest epoch is raised no more: its transaction is aborted, so that the id is not stuck.
        producer_epoch=min(epoch + 1, EPOCH_MAX) if is_bumped else epoch,
        last_producer_epoch=epoch if is_bumped else metadata.last_producer_epoch,
        state=TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT,
        start_timestamp_ms=metadata.start_timestamp_ms if has_partitions else now_ms,
        last_update_timestamp_ms=now_ms,
        client_transaction_version=client_transaction_version,
    )


def completed(metadata: TransactionMetadata, now_ms: int) -> TransactionMetadata:
    """Return the state after the last marker; a transaction that used up the epochs goes on with the next id."""
    rotates = supports_epoch_bump(metadata.client_transaction_version) and metadata.next_producer_id != NO_PRODUCER_ID
    is_commit = metadata.state is TransactionState.PREPARE_COMMIT
    return replace(
        metadata,
        previous_producer_id=metadata.producer_id,
        producer_id=metadata.next_producer_id if rotates else metadata.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        producer_epoch=0 if rotates else metadata.producer_epoch,
        state=TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
        partitions=NO_PARTITIONS,
        last_update_timestamp_ms=now_ms,
    )
