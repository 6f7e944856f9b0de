"""Where a loss was written: found in the batches of a change, and only if there is a new loss in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from falkirk.metadata.image.unknown_tags import has_unknown_tags
from falkirk.metadata.losses.condition import RowContext
from falkirk.metadata.losses.loss import UNKNOWN_TAG
from falkirk.metadata.records.record_key import object_key
from falkirk.metadata.records.record_reader import read_record
from falkirk.watch.core.findings import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.image.metadata_image import Provenance
    from falkirk.metadata.losses.loss import LossRule
    from falkirk.metadata.records.batch import MetadataBatch
    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.protocol.schema import WireMessage

METADATA_LOG: Final = "__cluster_metadata-0"
_NO_CONTEXT: Final = RowContext()


class Places(Protocol):
    """Finds the record that made an object lose something."""

    def of(self, key: ObjectKey, rule: LossRule) -> Place:
        """Return the place of a new loss."""


class SnapshotPlaces:
    """The place of everything in a snapshot: before its end."""

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance

    def of(self, key: ObjectKey, rule: LossRule) -> Place:
        """Return a place without an offset."""
        del key
        timestamp = self._provenance.timestamp
        return Place(
            log=METADATA_LOG,
            offset=None,
            end_offset=self._provenance.end_offset,
            timestamp_ms=None if timestamp < 0 else timestamp,
            record=rule.record,
        )


class BatchPlaces:
    """Places in batches of the log, which took effect at once.

    The first record of the object that could have brought the loss; if there is none, as for what a change of another
    object brings, the end of the batches.
    """

    def __init__(self, batches: Sequence[MetadataBatch]) -> None:
        self._batches = batches
        self._records: dict[ObjectKey, list[tuple[int, int, WireMessage]]] | None = None

    def of(self, key: ObjectKey, rule: LossRule) -> Place:
        """Return the place, by decoding the batches at the first call."""
        if self._records is None:
            self._records = self._read()
        for offset, timestamp, record in self._records.get(key, ()):
            condition = rule.writers.get(type(record).__name__)
            is_writer = has_unknown_tags(record) if rule.kind == UNKNOWN_TAG else condition is not None
            if is_writer and (condition is None or condition.holds(record, _NO_CONTEXT)):
                return _place(offset, timestamp, type(record).__name__)
        last = self._batches[-1]
        return _place(last.base_offset, last.timestamp, rule.record)

    def _read(self) -> dict[ObjectKey, list[tuple[int, int, WireMessage]]]:
        found: dict[ObjectKey, list[tuple[int, int, WireMessage]]] = {}
        for batch in self._batches:
            for offset, value in enumerate(batch.values, batch.base_offset):
                record = read_record(value)
                key = object_key(record)
                if key is not None:
                    found.setdefault(key, []).append((offset, batch.timestamp, record))
        return found


def _place(offset: int, timestamp: int, record: str) -> Place:
    return Place(log=METADATA_LOG, offset=offset, end_offset=offset + 1, timestamp_ms=timestamp, record=record)
