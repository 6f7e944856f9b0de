"""What a move to a target loses: of metadata and of groups, and nothing of a cluster that goes up."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pyarrow as pa

from falkirk.pipeline.transforms.cluster_context import own_level
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.downgrade_losses import LOSSES, downgrade_losses
from falkirk.pipeline.transforms.group_readiness import group_losses

if TYPE_CHECKING:
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows
    from falkirk.pipeline.warehouse.fleet_tables import ClusterWork
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


def move_losses(at: MetadataVersion, release: Release) -> ClusterQuestion:
    """Return a row for each loss (LOSSES). Nothing is written at a lower level of a cluster that goes up."""
    metadata, groups = downgrade_losses(at, release), group_losses(release)
    work = functools.partial(_losses_of, at=int(at.level), metadata=metadata.work, groups=groups.work)
    return ClusterQuestion(needed=[*metadata.needed, *groups.needed], work=work, schema=LOSSES, shared=True)


def _losses_of(rows: ClusterRows, *, at: int, metadata: ClusterWork, groups: ClusterWork) -> pa.Table:
    if own_level(rows).level < at:
        return LOSSES.empty_table()
    # Shares are of groups.
    return pa.concat_tables([*([metadata(rows)] if rows.share == 0 else []), groups(rows)])
