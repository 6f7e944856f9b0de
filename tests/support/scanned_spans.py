"""Spans of a buffer that a kernel reads at once, whole or damaged."""

import numpy as np
from hypothesis import strategies as st


def spans(parts):
    """Concatenate the parts; return the buffer and where each starts and ends."""
    data = np.frombuffer(b"".join(parts), np.uint8)
    end = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return data, end - np.array([len(part) for part in parts]), end


def damaged(draw, parts):
    """Return the parts, some with bytes changed or cut off."""
    rng = draw(st.randoms(use_true_random=False))
    out = []
    for part in parts:
        changed = bytearray(part)
        for _ in range(rng.choice([0, 0, 1, 2])):
            if changed:
                changed[rng.randrange(len(changed))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        out.append(bytes(changed[: len(changed) - rng.choice([0, 0, 0, 1, 5])]))
    return out
