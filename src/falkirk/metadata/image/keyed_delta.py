"""Changes to an immutable map, kept apart from it until they are applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from immutables import Map

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")


class KeyedDelta(Generic[K, V]):
    """New values of some keys of a map. A key whose value stays equal is no change and is not held."""

    __slots__ = ("base", "changes")

    def __init__(self, base: Map[K, V]) -> None:
        self.base = base
        # None: the key goes.
        self.changes: dict[K, V | None] = {}

    def get(self, key: K) -> V | None:
        """Return the value after the changes so far; None if there is none."""
        if key in self.changes:
            return self.changes[key]
        return self.base.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        if self.base.get(key) == value:
            self.changes.pop(key, None)
        else:
            self.changes[key] = value

    def remove(self, key: K) -> None:
        """Remove a key, if it is there."""
        if key in self.base:
            self.changes[key] = None
        else:
            self.changes.pop(key, None)

    def apply(self) -> Map[K, V]:
        """Return the next map; `base` itself if nothing changed."""
        changes = self.changes
        if not changes:
            return self.base
        if len(changes) == 1:
            ((key, value),) = changes.items()
            return self.base.delete(key) if value is None else self.base.set(key, value)
        mutation = self.base.mutate()
        for key, value in changes.items():
            if value is None:
                del mutation[key]
            else:
                mutation[key] = value
        return mutation.finish()

    @classmethod
    def between(cls, before: Map[K, V], after: Map[K, V]) -> KeyedDelta[K, V]:
        """Return the delta that leads from one map to the other."""
        delta = cls(before)
        for key, value in after.items():
            old = before.get(key)
            if old is not value and old != value:
                delta.changes[key] = value
        for key in before:
            if key not in after:
                delta.changes[key] = None
        return delta


class NestedDelta(Generic[K, V]):
    """Changes to a map of small maps of settings: resources and their configs, entities and their quotas.

    A resource without settings is not in the map.
    """

    __slots__ = ("base", "changes")

    def __init__(self, base: Map[K, Map[str, V]]) -> None:
        self.base = base
        # None: the setting goes.
        self.changes: dict[K, dict[str, V | None]] = {}

    def put(self, key: K, name: str, value: V) -> None:
        """Set one setting of a resource."""
        settings = self.base.get(key)
        if settings is not None and settings.get(name) == value:
            self._unchange(key, name)
        else:
            self.changes.setdefault(key, {})[name] = value

    def remove(self, key: K, name: str) -> None:
        """Remove one setting, if it is there."""
        settings = self.base.get(key)
        if settings is not None and name in settings:
            self.changes.setdefault(key, {})[name] = None
        else:
            self._unchange(key, name)

    def remove_all(self, key: K) -> None:
        """Remove all settings of a resource, also those of this delta."""
        settings = self.base.get(key)
        if settings is None:
            self.changes.pop(key, None)
        else:
            self.changes[key] = dict.fromkeys(settings)

    def apply(self) -> Map[K, Map[str, V]]:
        """Return the next map; `base` itself if nothing changed."""
        if not self.changes:
            return self.base
        changed = {key: self._settings(key, changes) for key, changes in self.changes.items()}
        mutation = self.base.mutate()
        for key, settings in changed.items():
            if settings:
                mutation[key] = settings
            else:
                mutation.pop(key, None)
        return mutation.finish()

    @classmethod
    def between(cls, before: Map[K, Map[str, V]], after: Map[K, Map[str, V]]) -> NestedDelta[K, V]:
        """Return the delta that leads from one map to the other."""
        delta = cls(before)
        nothing: Mapping[str, V] = {}
        for key in {*before, *after}:
            old, new = before.get(key, nothing), after.get(key, nothing)
            if old is new:
                continue
            changes: dict[str, V | None] = {name: value for name, value in new.items() if old.get(name) != value}
            changes |= {name: None for name in old if name not in new}
            if changes:
                delta.changes[key] = changes
        return delta

    def _unchange(self, key: K, name: str) -> None:
        changes = self.changes.get(key)
        if changes is not None:
            changes.pop(name, None)
            if not changes:
                del self.changes[key]

    def _settings(self, key: K, changes: Mapping[str, V | None]) -> Map[str, V]:
        settings: Map[str, V] = self.base.get(key, Map())
        for name, value in changes.items():
            if value is not None:
                settings = settings.set(name, value)
            elif name in settings:
                settings = settings.delete(name)
        return settings
