"""Which ACLs there are, whatever their ids: what is there already is not written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from immutables import Map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.acls import Acl


class ExistingAcls:
    """An immutable index of entries; old logs may hold one under several ids."""

    __slots__ = ("_counts",)

    def __init__(self, counts: Map[Acl, int] | None = None) -> None:
        self._counts: Map[Acl, int] = Map() if counts is None else counts

    def changed_by(self, changes: Mapping[Acl, int]) -> ExistingAcls:
        """Return the index after changes: how many ids more, or fewer, each entry has."""
        counts = self._counts.mutate()
        for acl, change in changes.items():
            count = counts.get(acl, 0) + change
            if count:
                counts[acl] = count
            else:
                counts.pop(acl, None)
        return ExistingAcls(counts.finish())

    def __eq__(self, other: object) -> bool:
        """Compare the entries, and under how many ids each stands."""
        return isinstance(other, ExistingAcls) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(self._counts)

    def __contains__(self, acl: Acl) -> bool:
        """Return whether the entry exists."""
        return acl in self._counts
