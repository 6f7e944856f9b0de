"""Batches of the metadata log that lower metadata.version (KIP-1155), recognized by their content."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Final

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.level_change import LevelChange
from falkirk.protocol.messages.feature_level_record import FeatureLevelRecord
from falkirk.protocol.metadata_record import decode_metadata_record, encode_frame
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.snapshot_file import Snapshot

UNKNOWN_LEVEL: Final = 1 << 15
"""Stands for an unknown level: whatever follows counts as lower."""

# A snapshot begins with its levels: all of its first batch need not be split.
_RUN_LENGTH: Final = 100
_key = FeatureLevelRecord.SCHEMA.info.key
assert _key is not None
_FRAME: Final = encode_frame(_key, 0)
_NAME: Final = re.compile(re.escape(METADATA_VERSION.encode()))


def level_changes_in(batch: RecordBatch) -> Iterator[LevelChange]:
    """Yield a batch's changes of metadata.version. Malformed records are skipped: whoever applies them reports them."""
    if batch.is_control or _NAME.search(batch.data) is None:
        return
    for level in _levels(batch):
        yield LevelChange(batch.base_offset, batch.end_offset, level)


def level_of(snapshot: Snapshot) -> int:
    """Return the metadata.version of a snapshot; 0 if it has none."""
    for batch in snapshot.data_batches:
        for level in _levels(batch):
            return level
    return 0


def lowerings(changes: Iterable[LevelChange], level_before: int) -> tuple[LevelChange, ...]:
    """Return the changes, in order, to a lower level than the one before."""
    found = []
    for change in changes:
        if change.level < level_before:
            found.append(change)
        level_before = change.level
    return tuple(found)


def _levels(batch: RecordBatch) -> Iterator[int]:
    with suppress(RemoteProtocolError):
        for value in chain.from_iterable(batch.value_runs(_RUN_LENGTH)):
            if value[: len(_FRAME)] == _FRAME:
                record, _ = decode_metadata_record(value)
                if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION:
                    yield record.feature_level
