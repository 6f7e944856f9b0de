"""Records that are read together are read as one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.protocol import record_scan
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import HEADER_BYTES
from falkirk.protocol.record_run import NO_RUN, RecordRun, records_alike
from falkirk.protocol.record_scan import scan_records


def body(records):
    return bytearray(build_batch(records, base_offset=0)[HEADER_BYTES:])


def alike(count, *, key=None, value=b"v" * 90, step=1):
    return [Record(number, 1_000 + number * step, key, value) for number in range(count)]


def one_by_one(data, count):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_scan, "records_alike", lambda *_, **__: NO_RUN)
        return found(data, count)


def found(data, count):
    try:
        return scan_records(data, 0, count)
    except RemoteProtocolError as error:
        return str(error)


SIZES = st.lists(st.tuples(st.sampled_from([0, 1, 70, 200]), st.integers(1, 120)), min_size=1, max_size=4)
STEPS = st.sampled_from([0, 1, 30, 5_000, -1, -70, 10**12])


@pytest.mark.source
@given(sizes=SIZES, step=STEPS, key=st.none() | st.binary(max_size=3), data=st.data())
def test_a_scan_finds_the_same_whether_records_are_read_together_or_not(sizes, step, key, data):
    values = [b"v" * size for size, count in sizes for _ in range(count)]
    records = [Record(number, number * step, key, value) for number, value in enumerate(values)]
    scanned = body(records)
    assert found(scanned, len(records)) == one_by_one(scanned, len(records))
    for _ in range(data.draw(st.integers(1, 3))):
        scanned[data.draw(st.integers(0, len(scanned) - 1))] = data.draw(st.integers(0, 255))
    assert found(scanned, len(records)) == one_by_one(scanned, len(records))


def test_records_of_one_shape_are_one_run():
    records = body(alike(20, key=b"k", step=3))
    assert records_alike(records, 0, len(records) // 20, index=0, count=19) == RecordRun(19, 3, 57)


def test_a_run_ends_before_a_record_of_another_shape():
    records = body([*alike(10), Record(10, 1_010, None, b"v" * 89), Record(11, 1_011, None, b"v" * 90)])
    assert records_alike(records, 0, len(body(alike(1))), index=0, count=11).length == 9


def test_a_run_ends_where_offset_deltas_need_another_byte():
    size = len(body(alike(1)))
    assert records_alike(body(alike(100)), 0, size, index=0, count=99).length == 63


def test_earlier_and_later_timestamps_are_told():
    records = [
        Record(number, 1_000 + delta, None, b"v") for number, delta in enumerate([0, 200, -300, 100, -100, 150, 64])
    ]
    scan = scan_records(body(records), 0, len(records))
    assert (scan.timestamp_delta_min, scan.timestamp_delta_max) == (-300, 200)
    size = len(body(records[:1])) + 1
    first = len(body(records[:1]))
    assert records_alike(body(records), first, size, index=1, count=5) == RecordRun(5, -300, 150)


@pytest.mark.parametrize("place", ["offset", "headers", "size"])
def test_what_is_not_in_order_is_no_run(place):
    records = body(alike(40))
    size = len(records) // 40
    at = {"size": size, "offset": size + 4, "headers": 2 * size - 1}[place]
    records[at] ^= 2
    assert records_alike(records, 0, size, index=0, count=39).length == 0
