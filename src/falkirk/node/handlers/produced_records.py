"""What stands in a produced partition's bytes, as far as the request is refused for it before any log is asked.

Kafka looks at the first batch of each partition to find transactional ones: one that cannot be read fails the whole
request. Then it looks whether there is one batch of magic 2: what cannot be read then fails its partition.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol.compression import Compression
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.protocol.record_batch import COMPRESSION_MASK, LENGTH_END, MAGIC, MAGIC_AT, TRANSACTIONAL_BIT

if TYPE_CHECKING:
    from collections.abc import Sequence

# The least that a length may say: what the oldest format needs.
_LENGTH_MIN: Final = 14
_LENGTH_AND_MAGIC: Final = struct.Struct(">8xi4xb")
_ATTRIBUTES: Final = struct.Struct(">h")
_ATTRIBUTES_AT: Final = 21


class BatchHead(NamedTuple):
    """As much of a batch as is looked at. Attributes are 0 below magic 2."""

    magic: int
    attributes: int


UNREADABLE: Final = BatchHead(-1, 0)
"""Stands for what follows on a batch and is none."""


class UnreadableBatchError(Exception):
    """Bytes that begin with no batch, as one line."""


def batch_heads(records: bytes | memoryview) -> Sequence[BatchHead]:
    """Give the batches that are wholly there; one that is cut off ends them, so does what is none (UNREADABLE).

    Raises UnreadableBatchError if there is no batch before that.
    """
    heads: list[BatchHead] = []
    position, size = 0, len(records)
    while size - position > MAGIC_AT:
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
    """Say whether any batch belongs to a transaction."""
    for head in heads:  # noqa: SIM110 - `any` makes a generator for what is mostly one batch
        if head.attributes & TRANSACTIONAL_BIT:
            return True
    return False


def why_refused(heads: Sequence[BatchHead], version: int) -> ErrorCode:
    """Give what a request of this version may not hold; NONE if it may.

    From v3 on it has one batch of magic 2, else INVALID_RECORD (CORRUPT_MESSAGE if what follows on it cannot be read);
    zstd only from v7 on, else UNSUPPORTED_COMPRESSION_TYPE.
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


_ONE_BATCH_SINCE: Final = 3
_ZSTD_SINCE: Final = 7
