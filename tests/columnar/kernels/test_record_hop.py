"""Starts of records in batches of every size, guesses included, against the row reader's own splitting."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.columnar.kernels import record_hop
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import Record, encode_record, split_records


def body_of(values):
    return b"".join(
        encode_record(Record(offset, 0, None, value), base_offset=0, base_timestamp=0)
        for offset, value in enumerate(values)
    )


def hop(bodies, counts):
    data = np.frombuffer(b"".join(bodies), np.uint8)
    ends = np.cumsum([len(body) for body in bodies])
    starts = ends - [len(body) for body in bodies]
    found, sound = record_hop.hop_records(data, starts, ends, np.array(counts))
    return found.tolist(), sound.tolist()


def wanted(bodies, counts):
    found, sound, base = [], [], 0
    for body, count in zip(bodies, counts, strict=True):
        try:
            found.append([base + start for start, _ in split_records(body, count)])
            sound.append(True)
        except RemoteProtocolError:
            found.append(None)
            sound.append(False)
        base += len(body)
    return found, sound


def check(bodies, counts):
    found, sound = hop(bodies, counts)
    starts, right = wanted(bodies, counts)
    assert sound == right
    position = 0
    for part, count in zip(starts, counts, strict=True):
        if part is not None:
            assert found[position : position + count] == part
        position += count


@pytest.mark.parametrize("shape", [[1], [0, 3, 0], [5000], [2000, 1, 700, 3000], [1] * 300, [70] * 60])
def test_starts_are_those_of_the_row_reader(shape):
    rng = random.Random(sum(shape))
    bodies = [body_of([rng.randbytes(rng.choice([0, 3, 90, 100, 101, 8000])) for _ in range(n)]) for n in shape]
    check(bodies, shape)


def test_values_that_look_like_records_mislead_nobody():
    """Each value is a row of small records itself, so that most guesses are wrong."""
    inner = body_of([b""] * 40)
    rng = random.Random(1)
    values = [inner[rng.randrange(20) :] + rng.randbytes(rng.randrange(9)) for _ in range(3000)]
    check([body_of(values), body_of([b"x"] * 500)], [3000, 500])


def test_values_longer_than_a_window_are_hopped_over():
    long = [b"\xff" * 70_000]
    check([body_of([*long, *[b"v"] * 200, *long])], [202])
    check([body_of([b"\xff" * 900] * 300)], [300])


def test_zeros_mislead_nobody():
    check([body_of([bytes(n % 200) for n in range(4000)])], [4000])


@pytest.mark.parametrize("count", [499, 501, 0, 10**6])
def test_a_count_that_the_body_does_not_fill_is_refused(count):
    body = body_of([b"x" * 20] * 500)
    if count * 7 <= len(body):
        check([body, body_of([b"y"] * 5)], [count, 5])


def test_a_broken_record_spoils_its_own_batch_only():
    good = body_of([b"value"] * 1000)
    for at in (0, 11 * 500, len(good) - 11):
        bad = bytearray(good)
        bad[at] = 0x01  # a negative size
        check([good, bytes(bad), good], [1000] * 3)


def test_sizes_that_run_out_of_the_batch_are_refused():
    good = body_of([b"value"] * 100)
    for size in (b"\xfe\xff\xff\xff\x0f", b"\xfe" + b"\xff" * 8 + b"\x01", b"\xff" * 12, b"\xfe\xff\x7f"):
        check([good, (size + good)[: len(good)], good], [100] * 3)


def test_sizes_may_be_written_longer_than_they_need():
    record = body_of([b"value"])
    padded = bytes([record[0] | 0x80, 0x80, 0x80, 0x00]) + record[1:]
    check([padded * 200, record * 200], [200, 200])


@pytest.mark.slow
@given(st.data())
def test_any_damage_is_judged_as_the_row_reader_does(data):
    # Each draw of `st.randoms` counts as input, and long bodies would be more than Hypothesis takes.
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    counts = data.draw(st.lists(st.integers(0, 300), min_size=1, max_size=4))
    bodies = []
    for count in counts:
        body = bytearray(body_of([rng.randbytes(rng.randrange(60)) for _ in range(count)]))
        for _ in range(data.draw(st.integers(0, 2))):
            if body:
                body[rng.randrange(len(body))] = rng.randrange(256)
        bodies.append(bytes(body))
    check(bodies, counts)


def test_long_batches_are_cut_into_segments():
    """Else the tests above would test the plain loop only."""
    body = body_of([b"some value of a usual size"] * 5000)
    data = np.frombuffer(body, np.uint8)
    one = np.zeros(1, np.int64)
    segments = record_hop._cut(data, one, one + len(body), one + 5000)
    assert len(segments.start) > 60
