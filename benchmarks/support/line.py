"""The line that a benchmark prints: `name ratio=... ours=... peer=...`, more than 1 if we are faster."""

from collections.abc import Sequence

UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def print_line(
    name: str,
    ours: Sequence[float],
    peer: Sequence[float],
    *,
    must: float,
    ours_cpu: Sequence[float] = (),
    peer_cpu: Sequence[float] = (),
) -> None:
    """Print the ratio of the best rounds (seconds), and of processor time where it was measured.

    The best of several interleaved rounds says most on a machine that is shared: noise only ever adds.
    """
    line = f"{name} ratio={min(peer) / min(ours):.2f} ours={readable(min(ours))} peer={readable(min(peer))}"
    if ours_cpu and peer_cpu:
        line += f" cpu_ratio={min(peer_cpu) / min(ours_cpu):.2f}"
        line += f" ours_cpu={readable(min(ours_cpu))} peer_cpu={readable(min(peer_cpu))}"
    print(f"{line} must={must}", flush=True)


def readable(seconds: float) -> str:
    """Give a time in the unit that suits it."""
    for unit, size in UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g}{unit}"
    return f"{seconds / 1e-9:.3g}ns"
