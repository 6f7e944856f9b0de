"""Markers that a transaction coordinator wants written to the partitions of a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from falkirk.protocol.topic_partition import TopicPartition


class TransactionMarkers(msgspec.Struct, frozen=True, kw_only=True):
    """One transaction's markers, for WriteTxnMarkers to the partitions' leaders.

    `partitions` may be empty: then the driver reports at once that all are written. `producer_epoch` is that of the
    PREPARE record, above the producer's own with transaction.version 2.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    coordinator_epoch: int
    transaction_version: int
    partitions: "tuple[TopicPartition, ...]"
