"""How a cluster stands: its level, the lowest one that loses nothing, and what lower ones lose, for the table `trends`.

Rules are those of the loss catalogue: on objects for the few, on columns for partitions.
"""

from __future__ import annotations

import functools
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from falkirk.metadata.levels.minimum_version import forcing_objects, forcing_rules
from falkirk.metadata.losses.loss_catalogue import ELR_TO_ISR
from falkirk.pipeline.state.conditions import Columns, holds, lists_within
from falkirk.pipeline.state.metadata.metadata_rows import PARTITION
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSION

if TYPE_CHECKING:
    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.pipeline.state.partitions.partition_rows import Partitions

    Row = dict[str, Any]  # Any: values of columns


def trend_row(image: MetadataImage, partitions: Partitions, end_offset: int | None, at_ms: int) -> Row:
    """Return the row of an ingest's day. `image` has everything but topics and configs."""
    losses = _losses(image, partitions)
    own = image.features.metadata_version
    supported = _supported(image.cluster)
    return {
        "day": datetime.fromtimestamp(at_ms / 1000, UTC).date(),
        "ingested_at": at_ms,
        "end_offset": end_offset,
        "metadata_version": None if own is None else own.level,
        "lowest_level": max((level for level, _ in losses), default=int(FLOOR.level)),
        "losses": [{"kind": kind, "level": level, "count": losses[level, kind]} for level, kind in sorted(losses)],
        "supported_min": None if supported is None else supported[0],
        "supported_max": None if supported is None else supported[1],
        "partitions": len(partitions.alive),
        "fenced_brokers": sum(broker.fenced for broker in image.cluster.brokers.values()),
    }


def _losses(image: MetadataImage, partitions: Partitions) -> Counter[tuple[int, str]]:
    """Count the objects by the level that can hold them and kind of loss; what costs nothing is none."""
    found = Counter((each.level, each.kind) for each in forcing_objects(image))
    brokers = image.cluster.brokers.items()
    stopped = [broker for broker, each in brokers if each.fenced and each.in_controlled_shutdown]
    rows = Columns(
        count=len(partitions.alive),
        column=functools.cache(partitions.lists),
        single_log_dirs={broker: each.log_dirs[0] for broker, each in brokers if len(each.log_dirs) == 1},
    )
    for rule in forcing_rules(image):
        if rule.record != PARTITION:
            continue
        lost = holds(rule.condition, rows)
        if rule.kind == ELR_TO_ISR and lost.any():
            lost &= ~lists_within(rows.column("eligible_leader_replicas"), stopped)
        if count := int(lost.sum()):
            found[rule.level or 0, rule.kind] += count
    return found


def _supported(cluster: ClusterImage) -> tuple[int, int] | None:
    """Return the lowest and the highest metadata.version that every node supports; None if there is none."""
    nodes = [*cluster.brokers.values(), *cluster.controllers.values()]
    known = [each for node in nodes for each in node.features if each.name == METADATA_VERSION]
    if not nodes or len(known) < len(nodes):
        return None
    lowest, highest = (
        max(each.min_supported_version for each in known),
        min(each.max_supported_version for each in known),
    )
    return (lowest, highest) if lowest <= highest else None
