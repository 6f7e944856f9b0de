"""Which ACLs there are, whatever their ids: what is there already is not written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from immutables import Map

if TYPE_CHECKING:
    from falkirk.metadata.image.acls import Acl, AclsDelta, AclsImage


class ExistingAcls:
    """An immutable index of entries; old logs may hold one under several ids."""

    __slots__ = ("_counts",)

    def __init__(self, counts: Map[Acl, int] | None = None) -> None:
        self._counts: Map[Acl, int] = Map() if counts is None else counts

    @classmethod
    def of(cls, image: AclsImage) -> ExistingAcls:
        """Index a whole image."""
        counts: dict[Acl, int] = {}
        for acl in image.acls.values():
            counts[acl] = counts.get(acl, 0) + 1
        return cls(Map(counts))

    def changed_by(self, delta: AclsDelta) -> ExistingAcls:
        """Return the index after a change."""
        counts = self._counts.mutate()
        for acl_id, acl in delta.acls.changes.items():
            before = delta.acls.base.get(acl_id)
            if before is not None:
                left = counts[before] - 1
                if left:
                    counts[before] = left
                else:
                    del counts[before]
            if acl is not None:
                counts[acl] = counts.get(acl, 0) + 1
        return ExistingAcls(counts.finish())

    def __contains__(self, acl: Acl) -> bool:
        """Return whether the entry exists."""
        return acl in self._counts
