"""Topic names: what they may be, and which are too much alike for metrics to tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from immutables import Map

if TYPE_CHECKING:
    from collections.abc import Mapping

CLUSTER_METADATA: Final = "__cluster_metadata"
_LENGTH_MAX: Final = 249
_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def reason_invalid_name(name: str) -> str | None:
    """Return why a topic cannot have a name, in Kafka's words; None if it can."""
    if not name:
        reason = "the empty string is not allowed"
    elif name in {".", ".."}:
        reason = f"'{name}' is not allowed"
    elif len(name) > _LENGTH_MAX:
        reason = f"the length of '{name}' is longer than the max allowed length {_LENGTH_MAX}"
    elif not _LEGAL.issuperset(name):
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return None
    return f"Topic name is invalid: {reason}"


class CollidingNames:
    """An immutable index of the names that hold `.` or `_`: names of metrics have `_` for both."""

    __slots__ = ("_names",)

    def __init__(self, names: Map[str, frozenset[str]] | None = None) -> None:
        # By the name with `_` for `.`. A log can hold names that collide: old releases let them in.
        self._names: Map[str, frozenset[str]] = Map() if names is None else names

    def changed_by(self, changes: Mapping[str, bool]) -> CollidingNames:
        """Return the index after changes of topics: True, a name comes; False, it goes."""
        names = self._names
        for name, is_in in changes.items():
            names = _changed(names, name, is_in=is_in)
        return CollidingNames(names)

    def colliding_with(self, name: str) -> str | None:
        """Return a topic whose name is equal in metrics, the name itself included; None if there is none."""
        unified = _unified(name)
        return None if unified is None else min(self._names.get(unified, frozenset()), default=None)

    def __eq__(self, other: object) -> bool:
        """Compare all names."""
        return isinstance(other, CollidingNames) and self._names == other._names

    def __hash__(self) -> int:
        return hash(self._names)


def _unified(name: str) -> str | None:
    """Return the name of a topic in metrics; None if metrics do not change it, so that it cannot collide."""
    unified = name.replace(".", "_")
    return unified if "_" in unified else None


def _changed(names: Map[str, frozenset[str]], name: str, *, is_in: bool) -> Map[str, frozenset[str]]:
    unified = _unified(name)
    if unified is None:
        return names
    alike = names.get(unified, frozenset())
    alike = alike | {name} if is_in else alike - {name}
    if alike:
        return names.set(unified, alike)
    return names.delete(unified) if unified in names else names
