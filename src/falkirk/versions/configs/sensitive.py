"""Which dynamic configs are secrets."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from falkirk.versions.configs.definition import ConfigType
from falkirk.versions.configs.tables import definitions_of
from falkirk.versions.release import all_releases

if TYPE_CHECKING:
    from falkirk.versions.configs.tables import Kind

_OF_LISTENER: Final = re.compile(r"listener\.name\.[^.]+\.(.+)")
_OF_MECHANISM: Final = re.compile(r"[^.]+\.(.+)")


def is_sensitive(kind: Kind | None, name: str) -> bool:
    """Return whether some release defines a config as a password, or none defines it at all.

    A key of a listener, or of its SASL mechanism, counts as the key behind its prefix. Source: Kafka's
    KafkaConfigSchema.isSensitive, which knows one release.
    """
    if kind is None:
        return True
    types = _types(kind)
    known = next((each for each in _spellings(name) if each in types), None)
    return known is None or ConfigType.PASSWORD in types[known]


def _spellings(name: str) -> list[str]:
    found = [name]
    for prefix in (_OF_LISTENER, _OF_MECHANISM):
        match = prefix.fullmatch(found[-1])
        if match is None:
            break
        found.append(match[1])
    return found


@functools.cache
def _types(kind: Kind) -> dict[str, set[ConfigType]]:
    """Return the types that releases give each config."""
    found: dict[str, set[ConfigType]] = {}
    for release in all_releases():
        for name, definition in definitions_of(kind, release).items():
            found.setdefault(name, set()).add(definition.type)
    return found
