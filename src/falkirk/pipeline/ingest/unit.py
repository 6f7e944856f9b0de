"""A unit of work of an ingest: some bytes of files that become one piece of the warehouse."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from zlib import crc32

from falkirk.pipeline.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.pipeline.filesystem import Location


_READERS: Final = 1
"""Incremented when readers make other rows of the same bytes."""
_SCHEMAS: Final = "".join(
    f"{table.name} {table.schema.to_string(show_field_metadata=False, show_schema_metadata=False)}"
    for table in TABLES.values()
)
MADE_BY: Final = f"{_READERS}-{crc32(_SCHEMAS.encode()):08x}"
"""A piece that other readers made, or with other columns, is made anew."""


class UnitKind(enum.StrEnum):
    """What is made of the bytes."""

    METADATA_RECORDS = "metadata_records"
    GROUP_RECORDS = "group_records"
    GROUP_STATE = "group_state"
    TRANSACTIONS = "transactions"
    REQUESTS = "requests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Work for one worker. `location` is a file with a range of bytes or, for a state, a partition's directory."""

    kind: UnitKind
    cluster: str
    location: Location
    node_id: int | None
    start: int = 0
    end: int = 0
    # Partition of a coordinator's topic.
    partition: int = 0
    is_snapshot: bool = False
    # Of a state: identity of its files, and the tables to make.
    fingerprint: str = ""
    tables: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Name of the piece."""
        if self.kind in STATES:
            return f"{self.kind} {self.partition}"
        return f"{self.kind} {self.location.uri} {self.start}"


def batched(units: Iterable[Unit], bytes_max: int) -> list[list[Unit]]:
    """Batch units whose rows go into the same data files: of one cluster and kind, and of `bytes_max` or little more.

    A coordinator's topic has 50 partitions, most of them small: one batch makes one file of each table of them.
    """
    found: list[list[Unit]] = []
    filled: dict[tuple[str, UnitKind], tuple[list[Unit], int]] = {}
    for unit in units:
        batch, size = filled.get((unit.cluster, unit.kind), ([], 0))
        if not batch or size + unit.end - unit.start > bytes_max:
            batch, size = [], 0
            found.append(batch)
        batch.append(unit)
        filled[unit.cluster, unit.kind] = batch, size + unit.end - unit.start
    return found


STATES = frozenset({UnitKind.GROUP_STATE, UnitKind.TRANSACTIONS})
"""Kinds that are made anew as a whole when anything changes."""
