"""Rows of the table `configs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.metadata.image.configs import TOPIC as TOPIC_RESOURCE
from falkirk.pipeline.state.metadata.metadata_rows import CONFIG
from falkirk.pipeline.state.metadata.written_places import WritingRows, joined, written_places
from falkirk.pipeline.tables.metadata_state import CONFIGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from falkirk.pipeline.state.metadata.metadata_rows import BulkRows, MetadataRows

    Ints = NDArray[np.int64]

_KEY = ("resource_type", "resource_name", "name")


def config_rows(rows: MetadataRows, removals: Sequence[tuple[int, str]]) -> pa.RecordBatch:
    """Return the configs set at the end; `removals` has (order, name) of removed topics, whose configs go with them."""
    state, earlier = rows.bulk[CONFIG], rows.earlier[CONFIG]
    columns = {name: pa.concat_arrays([state.columns[name], earlier.columns[name]]) for name in _KEY}
    key = _dense(columns)
    last = np.full(int(key.max(initial=-1)) + 1, -1)
    last[key[: len(state)]] = np.arange(len(state))
    there = last[last >= 0]
    is_set = np.asarray(state.columns["value"].is_valid().to_numpy(zero_copy_only=False))[there]
    there = np.sort(there[is_set & (state.order[there] > _removed(state.columns, removals)[there])])
    writers = joined(_writing(state, key[: len(state)]), _writing(earlier, key[len(state) :]))
    places = written_places(len(last), [writers])
    return pa.RecordBatch.from_arrays(
        [
            *(state.columns[name].take(there) for name in (*_KEY, "value")),
            places.array(pa.array(rows.files, pa.string()), key[there]),
        ],
        schema=CONFIGS.schema,
    )


def _dense(columns: dict[str, pa.Array[Any]]) -> Ints:  # Any: of the column's own type
    """Assign a number to each config of each resource."""
    resource, name = (columns[each].dictionary_encode() for each in ("resource_name", "name"))
    type_ = np.asarray(columns["resource_type"].to_numpy()).astype(np.int64) - np.iinfo(np.int8).min
    code = (type_ * max(len(resource.dictionary), 1) + _indices(resource)) * max(len(name.dictionary), 1)
    dense: Ints = np.unique(code + _indices(name), return_inverse=True)[1].reshape(-1)
    return dense


def _writing(rows: BulkRows, key: Ints) -> WritingRows:
    return WritingRows(record=CONFIG, key=key, order=rows.order, offset=rows.offset, file=rows.file)


def _removed(columns: dict[str, pa.Array[Any]], removals: Sequence[tuple[int, str]]) -> Ints:  # Any: same
    """Return for each row the order at which its topic was last removed; -1 if it is not about a removed topic."""
    last = {name: order for order, name in removals}
    position = pc.index_in(columns["resource_name"], value_set=pa.array(list(last), pa.string())).fill_null(len(last))
    orders = np.array([*last.values(), -1], np.int64)[position.to_numpy(zero_copy_only=False)]
    return np.where(columns["resource_type"].to_numpy() == TOPIC_RESOURCE, orders, -1)


def _indices(encoded: Any) -> Ints:  # Any: a dictionary array
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False)).astype(np.int64)
