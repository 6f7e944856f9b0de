"""Walking over records tells what decoding them would."""

from functools import reduce
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import Record, decode_records
from falkirk.protocol.record_batch import HEADER_BYTES
from falkirk.protocol.record_scan import joined, scan_parts, scan_records

FIELD = st.none() | st.binary(max_size=20) | st.just(b"x" * 9000)
RECORDS = st.lists(
    st.tuples(
        st.integers(-(10**6), 10**13),
        FIELD,
        FIELD,
        st.lists(st.tuples(st.text(max_size=3), FIELD), max_size=2),
        st.integers(1, 9000),
    ),
    min_size=1,
    max_size=5,
)


def built(drawn, *, has_gaps):
    records, offset = [], 0
    for timestamp, key, value, headers, gap in drawn:
        records.append(Record(offset, timestamp, key, value, tuple(headers)))
        offset += gap if has_gaps else 1
    return records, build_batch(records, base_offset=0)


@settings(max_examples=50)
@given(drawn=RECORDS, has_gaps=st.booleans())
def test_a_scan_says_what_all_records_say(drawn, has_gaps):
    records, batch = built(drawn, has_gaps=has_gaps)
    scan = scan_records(batch, HEADER_BYTES, len(records))
    deltas = [record.timestamp - records[0].timestamp for record in records]
    assert (scan.timestamp_delta_min, scan.timestamp_delta_max) == (min(deltas), max(deltas))
    assert scan.first_timestamp_delta == 0
    assert scan.has_null_key == any(record.key is None for record in records)
    assert scan.is_consecutive == ([record.offset for record in records] == list(range(len(records))))


@settings(max_examples=50)
@given(drawn=RECORDS, data=st.data())
def test_what_a_scan_takes_can_be_decoded(drawn, data):
    records, batch = built(drawn, has_gaps=False)
    body = bytearray(batch[HEADER_BYTES:])
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, min(len(body), 60) - 1))] = data.draw(st.integers(0, 255))
    try:
        scan = scan_records(body, 0, len(records))
    except RemoteProtocolError:
        return
    if scan.is_consecutive and abs(scan.timestamp_delta_min) < 2**62 and abs(scan.timestamp_delta_max) < 2**62:
        decoded = decode_records(bytes(body), count=len(records), base_offset=0, base_timestamp=0)
        assert [record.offset for record in decoded] == list(range(len(records)))
        assert scan.has_null_key == any(record.key is None for record in decoded)


@settings(max_examples=50)
@given(drawn=RECORDS, data=st.data())
def test_records_that_are_cut_off_or_too_many_are_refused(drawn, data):
    records, batch = built(drawn, has_gaps=False)
    cut = data.draw(st.integers(HEADER_BYTES, len(batch) - 1))
    with pytest.raises(RemoteProtocolError):
        scan_records(batch[:cut], HEADER_BYTES, len(records))
    with pytest.raises(RemoteProtocolError):
        scan_records(batch + b"\0", HEADER_BYTES, len(records))
    with pytest.raises(RemoteProtocolError):
        scan_records(batch, HEADER_BYTES, len(records) + 1)


@pytest.mark.parametrize("headers", [0, 5])
@pytest.mark.parametrize("gap", [0, 1])
def test_a_scan_in_parts_says_what_a_scan_at_once_says(headers, gap):
    chance, records = Random(1), []
    for index in range(2500):
        fields = chance.randrange(10**6), chance.choice((None, b"k" * chance.randrange(99))), b"v" * chance.randrange(3)
        records.append(Record(index + gap * (index > 2000), *fields, (("h", None),) * headers))
    plain = build_batch(records, base_offset=0)[HEADER_BYTES:]
    parts = list(scan_parts(plain, 0, len(records)))
    assert len(parts) >= 3
    assert (sum(part.record_count for part in parts), parts[-1].end) == (len(records), len(plain))
    assert sum(part.header_count for part in parts) == headers * len(records)
    assert reduce(joined, (part.scan for part in parts)) == scan_records(plain, 0, len(records))
    for broken in (plain[:-1], plain + b"\0"):
        with pytest.raises(RemoteProtocolError) as at_once:
            scan_records(broken, 0, len(records))
        with pytest.raises(RemoteProtocolError) as in_parts:
            list(scan_parts(broken, 0, len(records)))
        assert str(in_parts.value) == str(at_once.value)


def test_a_record_has_a_limited_number_of_headers():
    for count in (10_000, 10_001):
        plain = build_batch([Record(0, 0, None, None, (("", None),) * count)], base_offset=0)[HEADER_BYTES:]
        if count == 10_000:
            assert scan_records(plain, 0, 1).is_consecutive
        else:
            with pytest.raises(RemoteProtocolError, match="10001 headers"):
                scan_records(plain, 0, 1)
