"""Spans copied from many places to many places at once."""

import random

import numpy as np
import pytest

from falkirk.columnar.kernels.spans import copy_spans, gather_lists


@pytest.mark.parametrize(
    "sizes", [[0] * 5, [12] * 50, [4, 12] * 30, list(range(60)), [0, 1, 5000, 40_000, 100_000, 33_000], []]
)
def test_spans_of_any_sizes_are_copied(sizes):
    rng = random.Random(3)
    source = np.frombuffer(rng.randbytes(200_000), np.uint8)
    at = [rng.randrange(len(source) - size) for size in sizes]
    target_at = np.cumsum([0, *sizes])[:-1] + 2 * np.arange(len(sizes))
    target = np.full(sum(sizes) + 2 * len(sizes), 7, np.uint8)
    wanted = target.copy()
    for place, start, size in zip(target_at, at, sizes, strict=True):
        wanted[place : place + size] = source[start : start + size]
    copy_spans(source, np.array(at, np.int64), target, target_at, np.array(sizes, np.int64))
    assert target.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("dtype", "width"), [(">i4", 4), ("V16", 16), (">i8", 8)])
def test_lists_are_gathered_in_native_order(dtype, width):
    rng = random.Random(4)
    counts = [3, 0, 1, 3, 40, 0]
    source = np.frombuffer(rng.randbytes(2000), np.uint8)
    at = np.array([rng.randrange(1000) for _ in counts])
    offsets = np.cumsum([0, *counts])
    found = gather_lists(source, at, offsets, np.dtype(dtype))
    spans_ = [source[start : start + count * width].tobytes() for start, count in zip(at, counts, strict=True)]
    wanted = np.frombuffer(b"".join(spans_), dtype)
    assert found.tolist() == wanted.tolist()
    assert found.dtype.isnative
