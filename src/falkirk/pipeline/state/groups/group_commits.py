"""Offset commits of a partition that no coordinator's state depends on, because later ones follow.

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


def superseded_commits(rows: pa.Table) -> NDArray[np.bool_]:
    """Return which rows of a partition are superseded; the rows are in log order (`group_answers.PARTITION_ROWS`)."""
    keys = rows["key"].combine_chunks()
    is_plain = rows["commit_group"].is_valid().to_numpy() & ~rows["is_transactional"].to_numpy()
    is_plain &= rows["producer_id"].to_numpy() == NO_PRODUCER_ID
    is_commit = is_plain & ~rows["is_tombstone"].to_numpy()
    found: NDArray[np.bool_] = is_commit & _has_later(keys, is_plain)
    if found.any():
        found &= ~_begins_run(rows, keys, is_commit)
    return found


def _has_later(keys: pa.Array[Any], is_plain: NDArray[np.bool_]) -> NDArray[np.bool_]:  # Any: binary
    """Return which rows come before the last plain one of their key."""
    at = np.flatnonzero(is_plain)
    codes = keys.take(at).dictionary_encode().indices.to_numpy(zero_copy_only=False)
    last = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    last[codes] = at  # of several the last
    found = np.zeros(len(keys), np.bool_)
    found[at] = at < last[codes]
    return found


def _begins_run(rows: pa.Table, keys: pa.Array[Any], is_commit: NDArray[np.bool_]) -> NDArray[np.bool_]:  # Any: same
    """Return which commits are the first of their group, or the first behind another record of it."""
    groups = rows["commit_group"].combine_chunks()
    others = np.flatnonzero(~is_commit & rows["control_type"].is_null().to_numpy())
    named = [key_group(key) for key in keys.take(others).to_pylist()]
    at = np.concatenate([np.flatnonzero(is_commit), others])
    texts = pa.concat_arrays([groups.filter(pa.array(is_commit)), pa.array(named, pa.string())])
    codes = texts.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    # By group, in log order.
    order = np.lexsort((at, codes))
    at, codes = at[order], codes[order]
    before = np.ones(len(at), np.bool_)
    before[1:] = (codes[1:] != codes[:-1]) | ~is_commit[at[:-1]]
    found = np.zeros(len(is_commit), np.bool_)
    found[at] = before
    return found
