"""Each cluster's verdict on a target, as `falkirk logdir plan` concludes it, with the same exit status.

Except for changes that cost nothing: the plan counts them as losses (decision 0004).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from falkirk.metadata.losses.loss import Outcome
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.downgrade_losses import CHANGED
from falkirk.pipeline.transforms.stopped_cluster import STOPPED

if TYPE_CHECKING:
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows
    from falkirk.pipeline.warehouse.fleet_tables import ClusterWork

_BY_KIND: Final = pa.map_(pa.string(), pa.int64())
# Column -> the outcome whose losses it counts.
_COUNTED: Final = {
    "losses": Outcome.LOST.value,
    "changes": CHANGED,
    "inaccessible": Outcome.INACCESSIBLE.value,
}
_COUNTS: Final[dict[str, pa.DataType]] = {"outcome": pa.string(), "kind": pa.string(), "count": pa.int64()}
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "lossless": pa.bool_(),
    **dict.fromkeys(_COUNTED, _BY_KIND),
    "status": pa.int32(),
}
VERDICTS: Final = pa.schema([pa.field(CLUSTER, pa.string()), *STOPPED, *pa.schema(_COLUMNS)])


def downgrade_verdicts(stopped: pa.Table, counts: pa.Table) -> pa.Table:
    """Return a row for each cluster whose metadata was read (VERDICTS), from the answers for one target.

    `stopped` are the rows of `stopped_clusters`, `counts` those of `counted` for the losses of metadata and groups.
    lossless, losses, changes and inaccessible (counts by kind), and status are added: 1 if there is a blocker, else 3
    if something would be lost, else 0.
    """
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in counts.to_pylist():
        kinds = found.setdefault((row[CLUSTER], row["outcome"]), {})
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + row["count"]
    rows = []
    for row in stopped.to_pylist():
        by_kind = {name: sorted(found.get((row[CLUSTER], each), {}).items()) for name, each in _COUNTED.items()}
        lossless = not by_kind["losses"]
        status = 1 if row["blockers"] else 0 if lossless else 3
        rows.append(row | by_kind | {"lossless": lossless, "status": status})
    return pa.Table.from_pylist(rows, VERDICTS)


def loss_counts(losses: ClusterQuestion) -> ClusterQuestion:
    """Return how many losses a question finds in each cluster, by outcome and kind: where the losses are not needed."""
    work = functools.partial(_counts_of, losses=losses.work)
    return ClusterQuestion(needed=losses.needed, work=work, schema=pa.schema(_COUNTS), shared=losses.shared)


def counted(losses: pa.Table) -> pa.Table:
    """Count losses by outcome and kind, and by cluster where they name it."""
    by: list[str] = [name for name in (CLUSTER, "outcome", "kind") if name in losses.schema.names]
    return losses.group_by(by).aggregate([([], "count_all")]).rename_columns({"count_all": "count"})


def _counts_of(rows: ClusterRows, *, losses: ClusterWork) -> pa.Table:
    return counted(losses(rows)).select(list(_COUNTS))
