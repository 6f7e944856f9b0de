"""Hypothesis strategies for records and batches."""

from typing import Any

from hypothesis import strategies as st

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.record import Record

INT32_MAX = (1 << 31) - 1
# Timestamps are not negative but for "none"; deltas then fit an int64.
TIMESTAMPS = st.one_of(st.just(-1), st.integers(0, 2_000_000_000_000), st.integers(0, (1 << 62) - 1))
NULLABLE = st.one_of(st.none(), st.binary(max_size=100))
HEADERS = st.lists(st.tuples(st.text(max_size=5), NULLABLE), max_size=3).map(tuple)


@st.composite
def records(draw: st.DrawFn, first_offset: int = 0) -> Record:
    """One record at or after an offset."""
    offset = draw(st.integers(first_offset, first_offset + INT32_MAX))
    return Record(offset, draw(TIMESTAMPS), draw(NULLABLE), draw(NULLABLE), draw(HEADERS))


@st.composite
def batch_arguments(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of `build_batch`, offsets with gaps included."""
    base_offset = draw(st.integers(0, 1 << 40))
    gaps = draw(st.lists(st.integers(1, 100), min_size=1, max_size=8))
    offset = base_offset - 1 + draw(st.integers(0, 3))
    all_records = []
    for gap in gaps:
        offset += gap
        all_records.append(Record(offset, draw(TIMESTAMPS), draw(NULLABLE), draw(NULLABLE), draw(HEADERS)))
    has_producer = draw(st.booleans())
    return {
        "records": all_records,
        "base_offset": base_offset,
        "last_offset": offset + draw(st.integers(0, 5)),
        "leader_epoch": draw(st.integers(-1, INT32_MAX)),
        "compression": draw(st.sampled_from(Compression)),
        "log_append_time": draw(st.one_of(st.none(), st.integers(0, 1 << 60))),
        "producer_id": draw(st.integers(0, 1 << 50)) if has_producer else -1,
        "producer_epoch": draw(st.integers(0, 32767)) if has_producer else -1,
        "base_sequence": draw(st.integers(0, INT32_MAX)) if has_producer else -1,
        "is_transactional": has_producer and draw(st.booleans()),
        "delete_horizon_ms": draw(st.one_of(st.none(), st.integers(0, 1 << 60))),
    }


def batches() -> st.SearchStrategy[bytes]:
    """Whole batches as bytes."""
    return batch_arguments().map(lambda arguments: build_batch(**arguments))
