"""What the addresses of pages ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

ALL: Final = "all"
_TEXT_MAX: Final = 300


class ClusterQuery(NamedTuple):
    """What of a cluster is shown: losses by text, release and kind, groups by text."""

    q: str = ""
    release: str = ALL
    kind: str = ALL
    group: str = ""


def text(values: Mapping[str, str], name: str, default: str = "") -> str:
    """Return a value, cut to what a person types."""
    return values.get(name, default)[:_TEXT_MAX]


def number(values: Mapping[str, str], name: str) -> int | None:
    """Return a whole number; None if there is none."""
    value = values.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 16 else None


def contains(wanted: str, *texts: str | None) -> bool:
    """Return whether one of the texts has every word that is wanted, in any case."""
    joined = "\n".join(each for each in texts if each).lower()
    return all(word in joined for word in wanted.lower().split())
