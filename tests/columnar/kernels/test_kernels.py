"""Both implementations of the kernels give the same for the same bytes, and nothing but an answer for any bytes."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_strategies import message_strategy

from falkirk.columnar.field_plan import field_plan
from falkirk.columnar.kernels import ABSENT, NO_TYPE, NULL, load_kernels
from falkirk.protocol import codec
from falkirk.protocol.messages import (
    ConfigRecord,
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.record import Record, encode_record

NUMPY, NUMBA = load_kernels(jit=False), load_kernels(jit=True)
FLAT = [
    (cls, version)
    for cls in (
        ConfigRecord,
        GroupMetadataKey,
        OffsetCommitKey,
        OffsetCommitValue,
        PartitionChangeRecord,
        PartitionRecord,
        TopicRecord,
    )
    for version in cls.SCHEMA.info.versions
]


def spans(parts):
    data = np.frombuffer(b"".join(parts), np.uint8)
    end = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return data, end - np.array([len(part) for part in parts]), end


def damaged(draw, parts):
    rng = draw(st.randoms(use_true_random=False))
    out = []
    for part in parts:
        changed = bytearray(part)
        for _ in range(rng.choice([0, 0, 1, 2])):
            if changed:
                changed[rng.randrange(len(changed))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        out.append(bytes(changed[: len(changed) - rng.choice([0, 0, 0, 1, 5])]))
    return out


@pytest.mark.slow
@given(st.data())
def test_fields_are_located_alike(data):
    cls, version = data.draw(st.sampled_from(FLAT))
    messages = data.draw(st.lists(message_strategy(cls, version, None), min_size=1, max_size=8))
    parts = damaged(data.draw, [codec.encode(message, version) for message in messages])
    bytes_, start, end = spans(parts)
    plan = field_plan(cls, version)
    one, other = (kernels.scan_fields(plan, bytes_, start, end) for kernels in (NUMPY, NUMBA))
    assert one.sound.tolist() == other.sound.tolist()
    for index, field in enumerate((*plan.fields, *plan.tagged)):
        there = one.sound & (np.asarray(one.at[index]) != ABSENT)
        assert one.at[index][one.sound & there].tolist() == other.at[index][one.sound & there].tolist()
        if field.form != "fixed":
            assert one.count[index][one.sound].tolist() == other.count[index][one.sound].tolist()


@pytest.mark.slow
@given(st.data())
def test_records_are_taken_apart_alike(data):
    rng = data.draw(st.randoms(use_true_random=False))
    parts = []
    # Enough of one kind that numpy takes them by columns, some others among them.
    for index in range(data.draw(st.sampled_from([3, 120]))):
        key = rng.choice([None, None, None, None, b"k"])
        headers = rng.choice([(), (), (), (), (("h", None),)])
        record = Record(index, rng.choice([0, 0, 0, 70]), key, rng.randbytes(rng.choice([70, 80, 3])), headers)
        parts.append(encode_record(record, base_offset=0, base_timestamp=0))
    bytes_, start, end = spans(damaged(data.draw, parts))
    one, other = (kernels.scan_records(bytes_, start, end) for kernels in (NUMPY, NUMBA))
    assert one.sound.tolist() == other.sound.tolist()
    for name in type(one).__slots__:
        assert getattr(one, name)[one.sound].tolist() == getattr(other, name)[one.sound].tolist(), name


@pytest.mark.slow
@given(st.data())
def test_types_are_peeked_alike(data):
    rng = data.draw(st.randoms(use_true_random=False))
    parts = []
    for index in range(data.draw(st.sampled_from([2, 100]))):
        record = rng.choice([TopicRecord("t" * rng.randrange(90)), PartitionRecord(replicas=(1, 2, 3)), ConfigRecord()])
        value = encode_metadata_record(record, 0)
        offset = rng.choice([index, index + 9000, index + 2**20])
        parts.append(encode_record(Record(offset, 0, None, value), base_offset=0, base_timestamp=0))
    bytes_, start, _ = spans(damaged(data.draw, parts))
    assert NUMPY.peek_types(bytes_, start).tolist() == NUMBA.peek_types(bytes_, start).tolist()


@pytest.mark.slow
@given(st.lists(st.binary(max_size=6), min_size=1, max_size=20))
def test_frames_are_read_alike(values):
    bytes_, start, end = spans(values)
    found = [kernels.frame_types(bytes_, start, end).tolist() for kernels in (NUMPY, NUMBA)]
    assert found[0] == found[1]
    for value, code in zip(values, found[0], strict=True):
        plain = len(value) >= 3 and value[0] == 1 and value[1] < 0x80 and value[2] < 0x80
        assert code == (value[1] << 8 | value[2] if plain else NO_TYPE)


@pytest.mark.parametrize("kernels", [NUMPY, NUMBA], ids=["numpy", "numba"])
@pytest.mark.parametrize(
    "sizes", [[0] * 5, [12] * 50, [4, 12] * 30, list(range(60)), [0, 1, 5000, 40_000, 100_000, 33_000], []]
)
def test_spans_of_any_sizes_are_copied(kernels, sizes):
    rng = random.Random(3)
    source = np.frombuffer(rng.randbytes(200_000), np.uint8)
    at = [rng.randrange(len(source) - size) for size in sizes]
    target_at = np.cumsum([0, *sizes])[:-1] + 2 * np.arange(len(sizes))
    target = np.full(sum(sizes) + 2 * len(sizes), 7, np.uint8)
    wanted = target.copy()
    for place, start, size in zip(target_at, at, sizes, strict=True):
        wanted[place : place + size] = source[start : start + size]
    kernels.copy_spans(source, np.array(at, np.int64), target, target_at, np.array(sizes, np.int64))
    assert target.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kernels", [NUMPY, NUMBA], ids=["numpy", "numba"])
@pytest.mark.parametrize(("dtype", "width"), [(">i4", 4), ("V16", 16), (">i8", 8)])
def test_lists_are_gathered_in_native_order(kernels, dtype, width):
    rng = random.Random(4)
    counts = [3, 0, 1, 3, 40, 0]
    source = np.frombuffer(rng.randbytes(2000), np.uint8)
    at = np.array([rng.randrange(1000) for _ in counts])
    offsets = np.cumsum([0, *counts])
    found = kernels.gather_lists(source, at, offsets, np.dtype(dtype))
    spans_ = [source[start : start + count * width].tobytes() for start, count in zip(at, counts, strict=True)]
    wanted = np.frombuffer(b"".join(spans_), dtype)
    assert found.tolist() == wanted.tolist()
    assert found.dtype.isnative


@pytest.mark.slow
@given(st.binary(min_size=1, max_size=60), st.data())
def test_any_bytes_at_any_places_are_judged_alike(bytes_, data):
    array = np.frombuffer(bytes_, np.uint8)
    cut = st.integers(0, len(bytes_))
    pairs = [sorted(pair) for pair in data.draw(st.lists(st.tuples(cut, cut), min_size=1, max_size=5))]
    start, end = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    cls, version = data.draw(st.sampled_from(FLAT))
    plan = field_plan(cls, version)
    fields = [kernels.scan_fields(plan, array, start, end).sound.tolist() for kernels in (NUMPY, NUMBA)]
    assert fields[0] == fields[1]
    records = [kernels.scan_records(array, start, end) for kernels in (NUMPY, NUMBA)]
    assert records[0].sound.tolist() == records[1].sound.tolist()
    assert (records[0].key_size[records[0].sound] >= NULL).all()


def test_without_numba_the_error_says_what_to_install(monkeypatch):
    import sys

    from falkirk.columnar import kernels

    monkeypatch.delattr(kernels, "numba_kernels")
    monkeypatch.setitem(sys.modules, "falkirk.columnar.kernels.numba_kernels", None)
    with pytest.raises(ImportError, match=r"falkirk\[numba\]"):
        load_kernels(jit=True)
