"""How a cluster stands: its level, the lowest one that loses nothing, and what lower ones lose, for the table `trends`.

Rules are those of the loss catalogue: on objects for the few, on columns for partitions.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.metadata.image.partition import MIGRATING
from falkirk.metadata.levels.minimum_version import forcing_objects, forcing_rules
from falkirk.metadata.losses.condition import HasUnderivableDirectory, RowContext, compiled
from falkirk.metadata.losses.loss_catalogue import ELR_TO_ISR
from falkirk.pipeline.state.metadata.metadata_rows import PARTITION
from falkirk.pipeline.state.partitions.partition_keys import list_lengths
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.pipeline.state.partitions.partition_rows import Partitions

    Flags = NDArray[np.bool_]
    Row = dict[str, Any]  # Any: values of columns

_REPLICA_STATE: Final = ("isr", "eligible_leader_replicas", "last_known_elr")
_NO_CONTEXT: Final = RowContext()


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
    rules = [rule for rule in forcing_rules(image) if rule.record == PARTITION]
    brokers = image.cluster.brokers.items()
    stopped = [broker for broker, each in brokers if each.fenced and each.in_controlled_shutdown]
    with_one = [broker for broker, each in brokers if len(each.log_dirs) == 1]
    shapes = _shapes(partitions, stopped)
    for rule in rules:
        if isinstance(rule.condition, HasUnderivableDirectory):
            count = _underivable(partitions, with_one)
        else:
            holds = compiled(rule.condition)
            count = sum(
                number
                for (row, costs_nothing), number in shapes
                if holds(row, _NO_CONTEXT) and not (rule.kind == ELR_TO_ISR and costs_nothing)
            )
        if count:
            found[rule.level or 0, rule.kind] += count
    return found


def _shapes(partitions: Partitions, stopped: Iterable[int]) -> list[tuple[tuple[SimpleNamespace, bool], int]]:
    """Count partitions by which of their lists are empty, which is all that rules on them ask for.

    Each comes with an example, and whether all eligible leader replicas are on brokers that were stopped cleanly.
    """
    lists = {name: partitions.lists(name) for name in _REPLICA_STATE}
    elr = lists["eligible_leader_replicas"]
    running = ~_is_in(elr, stopped)
    with_running = np.bincount(_owners(elr)[running], minlength=len(elr)) > 0
    shape = with_running.astype(np.int64)
    for place, name in enumerate(_REPLICA_STATE, 1):
        shape |= (list_lengths(lists[name]) > 0).astype(np.int64) << place
    found = []
    for bits, number in enumerate(np.bincount(shape).tolist()):
        if number:
            row = SimpleNamespace(**{name: (0,) * (bits >> place & 1) for place, name in enumerate(_REPLICA_STATE, 1)})
            found.append(((row, not bits & 1), number))
    return found


def _underivable(partitions: Partitions, with_one: Iterable[int]) -> int:
    """Count partitions for which `HasUnderivableDirectory` holds. `with_one` are the brokers with one directory."""
    directories = partitions.lists("directories")
    has_any = pa.array(list_lengths(directories) > 0)
    directories, replicas = (each.filter(has_any) for each in (directories, partitions.lists("replicas")))
    values = _elements(directories)
    assert len(values) == len(_elements(replicas)), "a directory for each replica"
    known = np.asarray(pc.not_equal(values, pa.scalar(MIGRATING, values.type)).to_numpy(zero_copy_only=False))
    return len(np.unique(_owners(directories)[known & ~_is_in(replicas, with_one)]))


def _elements(lists: pa.Array[Any]) -> pa.Array[Any]:  # Any: of lists of any type
    assert isinstance(lists, pa.ListArray)
    return lists.flatten()


def _owners(lists: pa.Array[Any]) -> NDArray[np.int64]:  # Any: of lists
    """Return for each element the index of its list."""
    return np.repeat(np.arange(len(lists)), list_lengths(lists))


def _is_in(lists: pa.Array[Any], brokers: Iterable[int]) -> Flags:  # Any: of lists of brokers
    values = _elements(lists)
    found: Flags = pc.is_in(values, pa.array(sorted(brokers), values.type)).to_numpy(zero_copy_only=False)
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
