"""Tagged fields that no release knows: their names in the bundle, and how undo restores them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.metadata.records.record_reader import read_record
from falkirk.metadata.undo.undo_bundle import KeptTag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.metadata.losses.loss import Loss
    from falkirk.metadata.records.batch import MetadataBatch
    from falkirk.protocol.schema import WireMessage


_INDEXED: Final = re.compile(r"(\w+)\[(\d+)\]")
# Fields that identify a struct in a list.
_NAMES: Final = ("name", "entity_type")


def kept_tag(loss: Loss, batches: Iterable[MetadataBatch]) -> KeptTag:
    """Return the unknown tag of a loss; `batches` have the record that held it, at the loss's place."""
    before = loss.before
    path = before["path"]
    if path:
        path = _named(path, _record_at(loss, batches))
    return KeptTag(before["record"], path, before["tag"], bytes.fromhex(before["data"]))


def put_back(record: WireMessage, tags: Sequence[KeptTag]) -> tuple[WireMessage, list[KeptTag]]:
    """Return a copy of the record with the fields in it, and the fields that have no place in it."""
    unplaced: list[KeptTag] = []
    copy = msgspec.structs.replace(record)
    for tag in tags:
        struct = _struct_at(copy, tag.path) if tag.record == type(record).__name__ else None
        if struct is None:
            unplaced.append(tag)
        else:
            struct.unknown_tagged_fields = (*struct.unknown_tagged_fields, (tag.tag, tag.data))
    return copy, unplaced


def _record_at(loss: Loss, batches: Iterable[MetadataBatch]) -> WireMessage | None:
    for batch in batches:
        if loss.offset is not None and batch.source == loss.source:
            index = loss.offset - batch.base_offset
            if 0 <= index < len(batch.values):
                return read_record(batch.values[index])
    return None


def _named(path: str, record: WireMessage | None) -> str:
    """Turn `endPoints[1]` into `endPoints[EXTERNAL]`; without the record the path stays as it is."""
    found = _INDEXED.fullmatch(path)
    if found is None or record is None:
        return path
    items = _list(record, found[1])
    index = int(found[2])
    return f"{found[1]}[{_name(items[index])}]" if index < len(items) else path


def _struct_at(record: WireMessage, path: str) -> Any:  # Any: generated classes without a common field
    """Return the struct to change: the record itself, or an element of a list of it, which then is a copy."""
    if not path:
        return record
    field, _, name = path.rstrip("]").partition("[")
    attribute = _attribute(record, field)
    if attribute is None:
        return None
    items = [msgspec.structs.replace(item) for item in getattr(record, attribute)]
    setattr(record, attribute, items)
    return next((item for item in items if _name(item) == name), None)


def _list(record: WireMessage, field: str) -> list[Any]:  # Any: same
    attribute = _attribute(record, field)
    return [] if attribute is None else getattr(record, attribute)


def _attribute(record: WireMessage, field: str) -> str | None:
    return next((each.attribute for each in record.SCHEMA.fields if each.name.casefold() == field.casefold()), None)


def _name(struct: Any) -> str:  # Any: same
    return next(str(getattr(struct, name)) for name in _NAMES if hasattr(struct, name))
