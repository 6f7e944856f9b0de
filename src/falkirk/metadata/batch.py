"""What the metadata layer reads: batches of record values, wherever they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class MetadataBatch(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One batch of the metadata log, or of a snapshot; offsets of a snapshot start at 0.

    A control batch has no values and only moves the end offset. `timestamp` is the batch's append time (ms),
    `source` the file's name for errors and losses.
    """

    base_offset: int
    end_offset: int
    epoch: int
    timestamp: int
    values: Sequence[bytes] = ()
    source: str | None = None
