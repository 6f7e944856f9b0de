"""What partitions lose at a lower metadata.version, evaluated on columns of PartitionRecords.

The kinds, levels and conditions are those of the loss catalogue (`metadata.loss_catalogue`), which stands in a layer
above this one: a test holds the two equal. A kind that applies gives a mask, so that losses can be counted in bulk and
the partitions be named one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import bytes_of
from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]


def partition_losses(
    partitions: pa.RecordBatch,
    at: MetadataVersion,
    *,
    elr_enabled: bool,
    log_dir_counts: Mapping[int, int],
) -> dict[str, Flags]:
    """Say for each kind of loss that applies at a level which partitions it hits; rows as in `partitions`.

    `partitions` has the columns of `schemas.PARTITION_RECORDS` that the kinds ask for, `log_dir_counts` the number of
    log directories of each registered broker, `elr_enabled` says whether eligible leader replicas stay in use.
    """
    columns = _Partitions(partitions, log_dir_counts)
    return {
        rule.kind: rule.mask(columns)
        for rule in PARTITION_RULES
        if at.level < rule.level or (rule.elr and not elr_enabled)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRule:
    """One kind of loss: what the log holds from `level` on (or while eligible leader replicas are in use)."""

    kind: str
    level: int
    elr: bool
    mask: Callable[[_Partitions], Flags]


class _Partitions:
    """The columns as numpy arrays."""

    def __init__(self, batch: pa.RecordBatch, log_dir_counts: Mapping[int, int]) -> None:
        self._batch = batch
        self._log_dir_counts = log_dir_counts

    def count(self, name: str) -> NDArray[np.int64]:
        """Count the elements of each list; a null is empty."""
        column = self._list(name)
        counts = np.diff(column.offsets.to_numpy()).astype(np.int64)
        if column.null_count:
            counts[column.is_null().to_numpy(zero_copy_only=False)] = 0
        return counts

    def has_underivable_directory(self) -> Flags:
        """Say where a replica lies in a directory that is known, on a broker that is not known to have only one."""
        replicas, directories = self._list("replicas"), self._list("directories")
        count = self.count("directories")
        found = np.zeros(len(count), np.bool_)
        known = _is_known(directories.flatten())
        if not known.any():
            return found
        row = np.repeat(np.arange(len(count)), count)
        index = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        # Records whose lists differ in length are refused elsewhere; here their directories belong to no broker.
        fits = index < self.count("replicas")[row]
        brokers = np.full(len(row), _NO_BROKER, np.int64)
        first = replicas.offsets.to_numpy()[:-1].astype(np.int64) - replicas.offsets[0].as_py()
        brokers[fits] = replicas.flatten().to_numpy()[(first[row] + index)[fits]]
        single = [broker for broker, dirs in self._log_dir_counts.items() if dirs == 1]
        found[row[known & ~np.isin(brokers, single)]] = True
        return found

    def _list(self, name: str) -> pa.ListArray[Any]:  # Any: numbers or uuids
        column = self._batch.column(name)
        assert isinstance(column, pa.ListArray)
        return column


_NO_BROKER: Final = -(1 << 40)


def _is_known(directories: pa.Array[Any]) -> Flags:  # Any: uuids
    # Migrating directories, of which nobody has said yet where they are, have a uuid of zeros (KIP-858).
    words = bytes_of(directories.buffers()[1]).view(np.int64).reshape(-1, 2)
    words = words[directories.offset : directories.offset + len(directories)]
    known: Flags = (words[:, 0] | words[:, 1]) != 0
    return known


def _has_isr(columns: _Partitions) -> Flags:
    return columns.count("isr") > 0


def _has_elr(columns: _Partitions) -> Flags:
    return columns.count("eligible_leader_replicas") > 0


def _has_last_known_elr(columns: _Partitions) -> Flags:
    return columns.count("last_known_elr") > 0


_DIRECTORIES: Final = MetadataVersion.parse("3.7-IV2").level
_ELR: Final = MetadataVersion.parse("4.0-IV1").level

PARTITION_RULES: Final = (
    PartitionRule(
        kind="directory_assignment", level=_DIRECTORIES, elr=False, mask=_Partitions.has_underivable_directory
    ),
    PartitionRule(kind="elr_to_isr", level=_ELR, elr=True, mask=lambda columns: ~_has_isr(columns) & _has_elr(columns)),
    PartitionRule(
        kind="last_known_leader_to_isr",
        level=_ELR,
        elr=True,
        mask=lambda columns: ~_has_isr(columns) & ~_has_elr(columns) & _has_last_known_elr(columns),
    ),
    PartitionRule(
        kind="eligible_leader_replicas",
        level=_ELR,
        elr=True,
        mask=lambda columns: _has_isr(columns) & (_has_elr(columns) | _has_last_known_elr(columns)),
    ),
    PartitionRule(
        kind="partition_without_replica",
        level=_ELR,
        elr=False,
        mask=lambda columns: ~_has_isr(columns) & ~_has_elr(columns) & ~_has_last_known_elr(columns),
    ),
)
"""In the order of the catalogue."""
