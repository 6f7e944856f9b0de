import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.frame import FrameReader, frame


def cut(data, cuts):
    """Return the pieces between the cuts, empty ones included."""
    borders = [0, *sorted(min(each, len(data)) for each in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(borders)]


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(0, 400), max_size=30))
def test_frames_are_the_same_however_the_stream_is_cut(bodies, cuts):
    stream = b"".join(map(frame, bodies))
    reader = FrameReader(40)
    frames = [each for piece in cut(stream, cuts) for each in reader.receive_data(piece)]
    assert [body for _, body in frames] == bodies
    assert all(stream[offset : offset + len(body)] == body for offset, body in frames)


def test_a_stream_that_comes_byte_by_byte_gives_its_frames():
    reader = FrameReader(100)
    stream = frame(b"first") + frame(b"") + frame(b"third")
    assert [body for byte in stream for _, body in reader.receive_data(bytes([byte]))] == [b"first", b"", b"third"]


def test_a_reader_says_how_much_is_missing_at_least():
    reader = FrameReader(100)
    stream = frame(b"first") + frame(b"next")
    missing = []
    for byte in stream:
        reader.receive_data(bytes([byte]))
        missing.append(reader.missing_bytes)
    assert missing == [3, 2, 1, 5, 4, 3, 2, 1, 0, 3, 2, 1, 4, 3, 2, 1, 0]


def test_a_length_reserves_no_memory():
    reader = FrameReader(2**31 - 1)
    tracemalloc.start()
    try:
        assert reader.receive_data(b"\x7f\xff\xff\xff" + b"x" * 1000) == []
        assert reader.receive_data(b"x" * 1000) == []
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("length", "reason"), [(-1, "a frame of -1 bytes"), (11, "the limit is 10")])
@pytest.mark.parametrize("cuts", [[], [8, 9, 10, 11]])
def test_a_length_below_zero_or_above_the_limit_is_refused_with_its_place(length, reason, cuts):
    reader = FrameReader(10)
    stream = frame(b"good") + length.to_bytes(4, "big", signed=True) + b"x" * 20
    with pytest.raises(RemoteProtocolError, match=reason) as refused:
        list(map(reader.receive_data, cut(stream, cuts)))
    assert refused.value.offset == 8


def test_a_frame_of_just_the_limit_is_read():
    assert FrameReader(10).receive_data(frame(b"x" * 10)) == [(4, b"x" * 10)]


def test_a_large_frame_may_come_in_large_and_small_pieces():
    body = bytes(range(256)) * 200
    stream = frame(b"first") + frame(body) + frame(b"last")
    for sizes in ([5000, 3, 1, 20_000, 4096, 7, 30_000], [10, 4, 1, 1, 50_000, 3000]):
        borders = [sum(sizes[:count]) for count in range(1, len(sizes) + 1)]
        reader = FrameReader(len(body))
        assert [found for piece in cut(stream, borders) for _, found in reader.receive_data(piece)] == [
            b"first",
            body,
            b"last",
        ]
        assert reader.pending_bytes == 0
        assert reader.receive_data(stream[:6]) == []
        assert reader.pending_bytes == 6
