"""Remove data files that no commit of the retention has: replaced ones, and those of runs that were killed."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Final

from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.delta import vacuum_files

if TYPE_CHECKING:
    from falkirk.pipeline.warehouse.warehouse import Warehouse

RETENTION_HOURS: Final = 7 * 24
"""Delta Lake's own default."""
_HOUR_MS: Final = 3_600_000


def vacuum(warehouse: Warehouse, *, retention_hours: int = RETENTION_HOURS, dry_run: bool = False) -> dict[str, int]:
    """Remove data files that no commit of the last `retention_hours` has; return how many of each table.

    Commits from before then can no longer be read, nor can readers that began before then. Raises WarehouseError.
    """
    with warehouse.writing(wait=True):
        current = warehouse.mark()
        if not dry_run:
            since_ms = time.time_ns() // 1_000_000 - retention_hours * _HOUR_MS
            # A commit was the last one until the next was there.
            for mark, following in itertools.pairwise(warehouse.marks()):
                if following.at_ms <= since_ms:
                    warehouse.forget_mark(mark)
        found = {
            table: len(vacuum_files(warehouse.table_uri(table), retention_hours, dry_run=dry_run))
            for table in TABLES
            if table in current.versions
        }
    return {table: count for table, count in found.items() if count}
