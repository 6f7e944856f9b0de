"""Finds the record that wrote last what is lost, so that images need not store it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.unknown_tags import has_unknown_tags
from falkirk.metadata.losses.condition import Always, Condition, RowContext
from falkirk.metadata.losses.loss import UNKNOWN_TAG, Loss
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.metadata.records.errors import RecordError
from falkirk.metadata.records.record_key import ObjectKey, object_key
from falkirk.metadata.records.record_reader import read_record, record_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.metadata.records.batch import MetadataBatch
    from falkirk.protocol.schema import WireMessage


# PartitionRecord and PartitionChangeRecord, of which there are many: how their values begin, up to the record version
# (one byte, in all that are known), and where partition number and topic id stand in them.
_OF_PARTITIONS: Final = frozenset({b"\x01\x03", b"\x01\x05"})
_KEY_START: Final = 3
_KEY_END: Final = 23
_Rules = dict[str, tuple[Condition, set[ObjectKey]]]
# (kind of loss, object) -> (record type, offset, source).
_Places = dict[tuple[str, ObjectKey], tuple[str, int, str | None]]
_NO_CONTEXT: Final = RowContext()
_WRITERS: Final = {rule.kind: rule.writers for rule in CATALOGUE if rule.record}


def locate(losses: Sequence[Loss], batches: Iterable[MetadataBatch]) -> list[Loss]:
    """Return the losses with type, offset and source of the record that wrote each last; one pass, in the order given.

    `batches` are those that the image was loaded from: the snapshot's (whose offsets start at 0), then the log's.
    A loss that no record has written stays without a place. Raises RecordError for bytes that are no record.
    """
    wanted = _conditions_on_writers(losses)
    places: _Places = {}
    if wanted:
        partitions = {_partition_bytes(loss.key) for loss in losses if loss.key.kind == "partition"}
        for batch in batches:
            values = batch.values
            # Most values are of partitions that lose nothing: recognised by two slices, without decoding them.
            for index in [
                index
                for index, value in enumerate(values)
                if value[_KEY_START:_KEY_END] in partitions or value[:2] not in _OF_PARTITIONS
            ]:
                offset = batch.base_offset + index
                try:
                    rules = wanted.get(record_type(values[index]) or "")
                    record = read_record(values[index]) if rules else None
                except RecordError as error:
                    error.locate(offset, batch.source)
                    raise
                if rules and record is not None:
                    _note(rules, record, (offset, batch.source), places)
    return [_located(loss, places) for loss in losses]


def _partition_bytes(key: ObjectKey) -> bytes:
    topic_id, partition_id = key.identity
    return int(partition_id).to_bytes(4, "big", signed=True) + bytes(topic_id)


def _conditions_on_writers(losses: Sequence[Loss]) -> dict[str, _Rules]:
    """Return, by record type and kind of loss, the condition on a record and the objects concerned."""
    wanted: dict[str, _Rules] = {}
    for loss in losses:
        for record, condition in _writers_of(loss).items():
            rules = wanted.setdefault(record, {})
            rules.setdefault(loss.kind, (condition, set()))[1].add(loss.key)
    return wanted


def _writers_of(loss: Loss) -> Mapping[str, Condition]:
    writers = _WRITERS.get(loss.kind)
    if writers is not None:
        return writers
    return {loss.record: Always()}


def _note(
    rules: _Rules,
    record: WireMessage,
    place: tuple[int, str | None],
    places: _Places,
) -> None:
    key = object_key(record)
    if key is None:
        return
    for kind, (condition, keys) in rules.items():
        if key in keys and (has_unknown_tags(record) if kind == UNKNOWN_TAG else condition.holds(record, _NO_CONTEXT)):
            places[kind, key] = (type(record).__name__, *place)


def _located(loss: Loss, places: _Places) -> Loss:
    place = places.get((loss.kind, loss.key))
    return loss if place is None else loss.located(*place)
