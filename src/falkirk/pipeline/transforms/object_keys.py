"""Phrases and fields of object keys (`metadata.records.record_key`), as columns."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sf

from falkirk.metadata.records.record_key import IDENTITY_NAMES, NAMINGS, PHRASES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from falkirk.metadata.records.record_key import Naming

_PLACE: Final = re.compile(r"\{(\d*)\}")


def key_text(kind: str, identity: Sequence[Column], topic: Column | None = None) -> Column:
    """Return the phrase for an object, `topic orders partition 3`; `identity` has a column for each part of its key.

    `topic` replaces the id of a topic by its name, if that is known.
    """
    words = [_word(name, part) for name, part in zip(IDENTITY_NAMES[kind], identity, strict=True)]
    if topic is not None:
        words[0] = sf.coalesce(topic, words[0])
    return _filled(PHRASES[kind], words)


def key_fields(kind: str, identity: Sequence[Column]) -> Column:
    """Return the key's fields by name, as JSON."""
    named = [part.alias(name) for name, part in zip(IDENTITY_NAMES[kind], identity, strict=True)]
    return sf.to_json(sf.struct(*named), {"ignoreNullFields": "false"}) if named else sf.lit("{}")


def _filled(phrase: str, words: Sequence[Column]) -> Column:
    # The split alternates text and, at odd indexes, numbers of words.
    parts = _PLACE.split(phrase)
    columns = [words[int(part or 0)] if index % 2 else sf.lit(part) for index, part in enumerate(parts)]
    return sf.concat(*columns)


def _word(name: str, part: Column) -> Column:
    naming, text = NAMINGS.get(name), part.cast("string")
    return text if naming is None else _named(naming, text)


def _named(naming: Naming, value: Column) -> Column:
    names = ((sf.lit(str(key)), sf.lit(name)) for key, name in naming.names.items())
    known = sf.try_element_at(sf.create_map(*chain.from_iterable(names)), value)
    return sf.coalesce(known, _filled(naming.otherwise, [value]))
