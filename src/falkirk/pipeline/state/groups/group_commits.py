"""Offset commits of partitions that no coordinator's state depends on, because later ones follow.

A commit is superseded if all of this holds (`tests/pipeline/state/groups/test_group_commits.py` asks all coordinators):

1. It is outside any transaction and every release can read it, and so is a later record of the same key, a commit or a
tombstone. Both coordinators, and the survey of groups, take the key's committed offset from the last of such records
and of transaction ends: the earlier commit is forgotten, whatever is between. Offsets pending in transactions are not
touched by either.
2. It follows another such commit of its group, with no other record of the group between the two. The new coordinator
   creates a group at its first offset, and refuses records of some group types if the group exists: but here it
   existed already.

A record without effect cannot fail, so the set of failing records stays the same, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from falkirk.coordinator.prediction.group_survey import key_group
from falkirk.protocol.record_batch import NO_PRODUCER_ID

if TYPE_CHECKING:
    from numpy.typing import NDArray


def without_superseded(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows that may make a difference."""
    return rows.filter(pa.array(~superseded_commits(rows)))


def superseded_commits(rows: pa.RecordBatch) -> NDArray[np.bool_]:
    """Return which rows are superseded; by partition, they are in log order (`group_answers.PARTITION_ROWS`)."""
    flags = {name: rows[name].to_numpy(zero_copy_only=False) for name in ("is_transactional", "is_tombstone")}
    is_plain = rows["commit_group"].is_valid().to_numpy(zero_copy_only=False) & ~flags["is_transactional"]
    is_plain &= rows["producer_id"].to_numpy() == NO_PRODUCER_ID
    is_commit = is_plain & ~flags["is_tombstone"]
    found: NDArray[np.bool_] = is_commit & _has_later(rows, is_plain)
    if found.any():
        found &= ~_begins_run(rows, is_commit)
    return found


def _has_later(rows: pa.RecordBatch, is_plain: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows come before the last plain one of their partition and key."""
    at = np.flatnonzero(is_plain)
    codes = _codes(rows["key"].take(at))
    # By key, in the order of the rows: by partition, in log order.
    order = np.lexsort((at, codes))
    at, codes, partitions = at[order], codes[order], rows["partition"].to_numpy()[at[order]]
    found = np.zeros(len(is_plain), np.bool_)
    found[at[:-1]] = (codes[1:] == codes[:-1]) & (partitions[1:] == partitions[:-1])
    return found


def _begins_run(rows: pa.RecordBatch, is_commit: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which commits are the first of their group, or the first behind another record of it."""
    others = np.flatnonzero(~is_commit & rows["control_type"].is_null().to_numpy(zero_copy_only=False))
    named = [key_group(key) for key in rows["key"].take(others).to_pylist()]
    at = np.concatenate([np.flatnonzero(is_commit), others])
    codes = _codes(pa.concat_arrays([rows["commit_group"].filter(pa.array(is_commit)), pa.array(named, pa.string())]))
    # By group, in the same order.
    order = np.lexsort((at, codes))
    at, codes, partitions = at[order], codes[order], rows["partition"].to_numpy()[at[order]]
    before = np.ones(len(at), np.bool_)
    before[1:] = (codes[1:] != codes[:-1]) | (partitions[1:] != partitions[:-1]) | ~is_commit[at[:-1]]
    found = np.zeros(len(is_commit), np.bool_)
    found[at] = before
    return found


def _codes(values: pa.Array[Any]) -> NDArray[np.int32]:  # Any: of a hashable type
    """Return a number for each value, the same for equal ones; -1 for null."""
    encoded = values.dictionary_encode()
    assert isinstance(encoded, pa.DictionaryArray)
    found: NDArray[np.int32] = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return found
