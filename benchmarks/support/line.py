"""The line that a benchmark prints for each measurement: both times, their ratio, the budget, whether it is met.

With `--json` among its arguments a benchmark prints the same as JSON, one object per line.
"""

import json
import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def print_line(
    name: str,
    ours: Sequence[float],
    peer: Sequence[float],
    *,
    budget: float | None,
    against: str = "Kafka",
    wall: tuple[Sequence[float], Sequence[float]] | None = None,
    cpu: tuple[Sequence[float], Sequence[float]] | None = None,
) -> None:
    """Print what each took (seconds), turn by turn: the medians, and the median of the turns' ratios.

    A ratio above 1 means that ours is faster. Other load on the machine changes from turn to turn, but affects both
    sides of a turn alike. The ratio of the budget comes first, another one (wall or cpu) as a remark. A line without a
    budget is information. The load average of the last minute is printed: ratios of wall time mean little on a busy
    machine.
    """
    line = {
        "name": name,
        "against": against,
        "ours_s": statistics.median(ours),
        "peer_s": statistics.median(peer),
        "ratio": _ratio(ours, peer),
        "budget": budget,
        "met": None if budget is None else _ratio(ours, peer) >= budget,
    }
    line["load"] = os.getloadavg()[0]
    line |= {f"{label}_ratio": _ratio(*other) for label, other in (("wall", wall), ("cpu", cpu)) if other is not None}
    _print(line)


def print_left_out(name: str, reason: str) -> None:
    """Report that a benchmark has no peer here, and why."""
    _print({"name": name, "left_out": reason})


def print_step(name: str, seconds: float, *, work: str, limit_s: float) -> None:
    """Print the longest step of a play, in processor time, and what it did."""
    line = {"name": name, "longest_s": seconds, "budget_s": limit_s, "met": seconds <= limit_s, "work": work}
    _print(line | {"load": os.getloadavg()[0]})


def line_text(line: Mapping[str, Any]) -> str:
    """Return a line as text."""
    if "left_out" in line:
        return f"{line['name']}: left out: {line['left_out']}"
    if "longest_s" in line:
        verdict = "met" if line["met"] else "MISSED"
        took, limit = readable(line["longest_s"]), readable(line["budget_s"])
        return f"{line['name']}: longest step {took}, budget={limit} {verdict}: {line['work']}"
    remarks = "".join(f" {key}={line[key]:.2f}" for key in ("wall_ratio", "cpu_ratio") if key in line)
    met = {None: "no budget", True: f"budget={line['budget']} met", False: f"budget={line['budget']} MISSED"}
    return (
        f"{line['name']}, against {line['against']}: ours={readable(line['ours_s'])} peer={readable(line['peer_s'])} "
        f"ratio={line['ratio']:.2f}{remarks} {met[line['met']]} (load {line['load']:.0f})"
    )


def table(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines as a table in Markdown; `date` and `commit` of those that have them."""
    pythons = " ".join(sorted({line["python"] for line in lines if "python" in line}))
    yield f"| work, Python {pythons} | build | took | peer | ratio | clock | CPU | budget | | load | measured |"
    yield "|---" * 11 + "|"
    for line in lines:
        name = title(line)
        met = "left out" if "left_out" in line else {None: "", True: "met", False: "**missed**"}[line["met"]]
        if "left_out" in line:
            cells = [line["left_out"], "", "", "", "", ""]
        elif "longest_s" in line:
            cells = [readable(line["longest_s"]), "", "", "", "", readable(line["budget_s"])]
        else:
            name = f"{name}, against {line['against']}"
            ratios = [f"{line[key]:.2f}" if key in line else "" for key in ("ratio", "wall_ratio", "cpu_ratio")]
            budget = "" if line["budget"] is None else f"{line['budget']:g}"
            cells = [readable(line["ours_s"]), readable(line["peer_s"]), *ratios, budget]
        load = f"{line['load']:.0f}" if "load" in line else ""
        measured = " ".join(line[key] for key in ("date", "commit") if key in line)
        yield f"| {' | '.join((name, line.get('build', 'source'), *cells, met, load, measured))} |"


def title(line: Mapping[str, Any]) -> str:
    """Return what a line measured, with the options of its benchmark."""
    return " ".join((line["name"], *([f"({line['options']})"] if "options" in line else [])))


def readable(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g}{unit}"
    return f"{seconds / 1e-9:.3g}ns"


def _ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    return statistics.median(theirs / mine for mine, theirs in zip(ours, peer, strict=True))


def _print(line: dict[str, Any]) -> None:
    print(json.dumps(line) if "--json" in sys.argv else line_text(line), flush=True)
