"""A commit of a warehouse: what it changes in all tables, and the mark that it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from falkirk.pipeline.warehouse.manifest import DataFile, Manifest  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Change:
    """A cluster's manifest before and after a commit; None: the warehouse holds nothing of the cluster."""

    cluster: str
    before: Manifest | None
    after: Manifest | None


class TableFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Data files that a commit adds to a table and removes from it."""

    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that is decided: whoever finds its file completes it.

    Tables are committed first, then manifests (null: the cluster is forgotten), then the mark.
    """

    number: int
    at_ms: int
    tables: dict[str, TableFiles]
    manifests: dict[str, Manifest | None]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit left: the version of each table. Together these are one state of the whole warehouse.

    `changed` are the clusters that the commit changed or forgot, `at_ms` is its time in ms since 1970.
    """

    number: int = 0
    at_ms: int = 0
    versions: dict[str, int] = msgspec.field(default_factory=dict)
    changed: tuple[str, ...] = ()


def make_intent(changes: Sequence[Change], *, number: int, at_ms: int) -> Intent:
    """Return the commit of changes: each table's new files, and those that no manifest has any longer."""
    added: dict[str, list[DataFile]] = {}
    removed: dict[str, list[DataFile]] = {}
    for change in changes:
        old = {} if change.before is None else change.before.files()
        new = {} if change.after is None else change.after.files()
        for found, files, others in ((added, new, old), (removed, old, new)):
            for path, file in files.items():
                if path not in others:
                    found.setdefault(file.table, []).append(file)
    return Intent(
        number=number,
        at_ms=at_ms,
        tables={
            table: TableFiles(added=tuple(added.get(table, ())), removed=tuple(removed.get(table, ())))
            for table in sorted(added.keys() | removed.keys())
        },
        manifests={change.cluster: change.after for change in changes},
    )
