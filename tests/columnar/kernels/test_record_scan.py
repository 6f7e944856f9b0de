"""Records taken apart many at once, against the row reader: any records, damaged ones, any bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scanned_spans import damaged, spans

from falkirk.columnar.kernels import NULL
from falkirk.columnar.kernels.record_scan import scan_records
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import Record, decode_records, encode_record


def check(data, start, end):
    scan = scan_records(data, start, end)
    for row, sound in enumerate(scan.sound.tolist()):
        part = data[start[row] : end[row]].tobytes()
        try:
            (record,) = decode_records(part, count=1, base_offset=0, base_timestamp=0)
        except RemoteProtocolError:
            # Headers are located, not checked.
            assert not sound or scan.header_count[row]
            continue
        assert sound
        assert (record.offset, record.timestamp) == (scan.offset_delta[row], scan.timestamp_delta[row])
        assert len(record.headers) == scan.header_count[row]
        for payload, at, size in (
            (record.key, scan.key_at[row], scan.key_size[row]),
            (record.value, scan.value_at[row], scan.value_size[row]),
        ):
            assert payload == (None if size == NULL else data[at : at + size].tobytes())


@pytest.mark.slow
@given(st.data())
def test_records_are_taken_apart_as_by_the_row_reader(data):
    rng = data.draw(st.randoms(use_true_random=False))
    parts = []
    # Enough of one kind that they are taken by columns, some others among them.
    for index in range(data.draw(st.sampled_from([3, 120]))):
        key = rng.choice([None, None, None, None, b"k"])
        headers = rng.choice([(), (), (), (), (("h", None),)])
        record = Record(index, rng.choice([0, 0, 0, 70]), key, rng.randbytes(rng.choice([70, 80, 3])), headers)
        parts.append(encode_record(record, base_offset=0, base_timestamp=0))
    check(*spans(damaged(data.draw, parts)))


@pytest.mark.slow
@given(st.binary(min_size=1, max_size=60), st.data())
def test_any_bytes_at_any_places_are_judged_as_the_row_reader_judges_them(bytes_, data):
    cut = st.integers(0, len(bytes_))
    pairs = [sorted(pair) for pair in data.draw(st.lists(st.tuples(cut, cut), min_size=1, max_size=5))]
    start, end = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    check(np.frombuffer(bytes_, np.uint8), start, end)
