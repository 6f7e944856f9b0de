"""Phrases and fields of object keys (`metadata.records.record_key`), as columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.metadata.records.record_key import IDENTITY_NAMES, NAMINGS, PHRASES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Values = pa.Array[Any]  # Any: of the column's own type

_PLACE: Final = re.compile(r"\{(\d+)\}")


def key_text(kind: str, identity: Sequence[Values], topic: Values | None = None) -> Values:
    """Return the phrases for objects, `topic orders partition 3`; `identity` has a column for each part of their keys.

    `topic` replaces the id of a topic by its name, if that is known.
    """
    words = [_words(name, part) for name, part in zip(IDENTITY_NAMES[kind], identity, strict=True)]
    if topic is not None:
        words[0] = pc.coalesce(topic, words[0])
    # The split alternates text and, at odd indexes, numbers of words.
    parts = _PLACE.split(PHRASES[kind])
    return joined([words[int(part)] if index % 2 else part for index, part in enumerate(parts)], len(words[0]))


def key_fields(kind: str, identity: Sequence[Values]) -> Values:
    """Return the keys' fields by name, as JSON."""
    parts: list[Values | str] = []
    for name, part in zip(IDENTITY_NAMES[kind], identity, strict=True):
        parts += [f'{"," if parts else "{"}"{name}":', _mapped(part, lambda value: msgspec.json.encode(value).decode())]
    return joined([*parts, "}"], len(identity[0]))


def joined(parts: Sequence[Values | str], count: int) -> Values:
    """Join texts: columns of `count` rows, and constants."""
    if all(isinstance(part, str) for part in parts):
        return pa.repeat("".join(map(str, parts)), count)
    texts: list[Any] = [*parts, ""]  # Any: columns and constants
    found: Values = pc.binary_join_element_wise(*texts)
    return found


def _words(name: str, part: Values) -> Values:
    naming = NAMINGS.get(name)
    return part.cast(pa.string()) if naming is None else _mapped(part, naming.of)


def _mapped(values: Values, function: Callable[[Any], str]) -> Values:  # Any: a value of the column
    """Apply a function to each value; it is called once for equal values."""
    encoded = values.dictionary_encode()
    assert isinstance(encoded, pa.DictionaryArray)
    return pa.array(map(function, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)
