"""What the bytes of a produced partition contain, as far as it refuses a request before any log is involved.

Kafka reads the first batch of each partition to find transactional ones: an unreadable one fails the whole request.
Then it checks for exactly one batch of magic 2: what is unreadable then fails its partition.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol.compression import Compression
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.protocol.record_batch import COMPRESSION_MASK, LENGTH_END, MAGIC, MAGIC_AT, TRANSACTIONAL_BIT
from falkirk.structs import FrozenLeaf

if TYPE_CHECKING:
    from collections.abc import Sequence

# The minimum length, that of the oldest format.
_LENGTH_MIN: Final = 14
_LENGTH_AND_MAGIC: Final = struct.Struct(">8xi4xb")
_ATTRIBUTES: Final = struct.Struct(">h")
_ATTRIBUTES_AT: Final = 21
_PRODUCER: Final = struct.Struct(">qhi")
_PRODUCER_AT: Final = 43
_HEADS_MAX: Final = 2
_ONE_BATCH_SINCE: Final = 3
_ZSTD_SINCE: Final = 7


class BatchHead(FrozenLeaf):
    """The part of a batch header that is checked. Attributes are 0 below magic 2."""

    magic: int
    attributes: int


class TransactionalProducer(NamedTuple):
    """The producer of a transactional batch."""

    producer_id: int
    producer_epoch: int


UNREADABLE: Final = BatchHead(-1, 0)
"""Stands for bytes behind a batch that are no batch."""


class UnreadableBatchError(Exception):
    """The bytes do not begin with a batch."""


def batch_heads(records: bytes | memoryview) -> Sequence[BatchHead]:
    """Return the first two complete batches before a truncated one; bytes that are no batch end them as UNREADABLE.

    Nothing depends on those behind. Raises UnreadableBatchError if there is no batch before bytes that are none.
    """
    heads: list[BatchHead] = []
    position, size = 0, len(records)
    while len(heads) < _HEADS_MAX and size - position > MAGIC_AT:
        length, magic = _LENGTH_AND_MAGIC.unpack_from(records, position)
        if length < _LENGTH_MIN or not 0 <= magic <= MAGIC:
            if not heads:
                raise UnreadableBatchError(_reason(length, magic))
            heads.append(UNREADABLE)
            break
        end = position + LENGTH_END + length
        if end > size:
            break
        attributes = 0
        if magic == MAGIC and position + _ATTRIBUTES_AT + 2 <= size:
            (attributes,) = _ATTRIBUTES.unpack_from(records, position + _ATTRIBUTES_AT)
        heads.append(BatchHead(magic, attributes))
        position = end
    return heads


def has_transactional(heads: Sequence[BatchHead]) -> bool:
    """Return whether any batch belongs to a transaction."""
    for head in heads:  # noqa: SIM110 - `any` makes a generator for what is mostly one batch
        if head.attributes & TRANSACTIONAL_BIT:
            return True
    return False


def transactional_producer(records: bytes | memoryview) -> tuple[TransactionalProducer, int] | None:
    """Return the producer of a transactional batch, and its first sequence number; None for any other batch.

    `records` have been accepted: one batch of magic 2, or batches of formats without transactions.
    """
    if records[MAGIC_AT] != MAGIC or len(records) < _PRODUCER_AT + _PRODUCER.size:
        return None
    (attributes,) = _ATTRIBUTES.unpack_from(records, _ATTRIBUTES_AT)
    producer_id, producer_epoch, sequence = _PRODUCER.unpack_from(records, _PRODUCER_AT)
    if not attributes & TRANSACTIONAL_BIT or producer_id < 0:
        return None
    return TransactionalProducer(producer_id, producer_epoch), sequence


def batch_error(heads: Sequence[BatchHead], version: int) -> ErrorCode:
    """Return the error of batches that a request of this version must not contain; NONE if it may.

    From v3 on it has one batch of magic 2, else INVALID_RECORD (CORRUPT_MESSAGE if unreadable bytes follow it); zstd
    only from v7 on, else UNSUPPORTED_COMPRESSION_TYPE.
    """
    if version < _ONE_BATCH_SINCE:
        return NO_ERROR
    if not heads or heads[0].magic != MAGIC:
        return ErrorCode.INVALID_RECORD
    if version < _ZSTD_SINCE and heads[0].attributes & COMPRESSION_MASK == Compression.ZSTD:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    if len(heads) == 1:
        return NO_ERROR
    return ErrorCode.CORRUPT_MESSAGE if heads[1] is UNREADABLE else ErrorCode.INVALID_RECORD


def _reason(length: int, magic: int) -> str:
    if length < _LENGTH_MIN:
        return f"Record size {length} is less than the minimum record overhead ({_LENGTH_MIN})"
    return f"Invalid magic found in record: {magic}"
