"""The report of a lift: a page with its time line, the interruptions that were measured, and what was lost."""

from __future__ import annotations

import html
from string import Template
from typing import TYPE_CHECKING, Final

from falkirk.lift.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from falkirk.lift.journal import Entry

REPORT: Final = "report.html"
_WIDTH: Final = 900
_ROW: Final = 24
_LABEL: Final = 90
_PAGE: Final = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Lift of $cluster</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
rect { fill: #3b6ea5; } text { font-size: 13px; fill: currentColor; }
@media (prefers-color-scheme: dark) { body { background: #15181c; color: #e4e6e8; } rect { fill: #7fb0e0; } }
</style>
</head>
<body>
<h1>Lift of cluster $cluster</h1>
<p>$verdict</p>
<h2>Time line</h2>
$plot
<table>
<tr><th>step</th><th>took</th><th>longest time without a metadata write</th></tr>
$steps
</table>
<h2>Lost</h2>
$losses
<h2>Journal</h2>
<table>
$journal
</table>
</body>
</html>
"""
)


def write_report(directory: Path) -> Path:
    """Write `report.html` from the journal of a lift; return its path. Raises LiftError, OSError."""
    journal = Journal(directory)
    entries, originals = journal.read(), journal.originals()
    steps = [entry for entry in entries if entry.event == "done"]
    page = _PAGE.substitute(
        cluster=_escaped(None if originals is None else originals.cluster_id),
        verdict=_escaped(_verdict(entries)),
        plot=_plot(steps),
        steps="\n".join(_step_row(entry) for entry in steps),
        losses=_losses(entries),
        journal="\n".join(_journal_row(entry) for entry in entries),
    )
    path = directory / REPORT
    path.write_text(page, encoding="utf-8")
    return path


def _verdict(entries: Sequence[Entry]) -> str:
    events = [entry.event for entry in entries]
    if "finished" in events:
        return "The level is low, the voters are those of before, and falkirk's controller is gone."
    if "aborted" in events:
        return "The lift was given up; the voters and the level are those of before."
    return "The lift is not over."


def _plot(steps: Sequence[Entry]) -> str:
    """Draw each step as a bar from its beginning to its end."""
    spans = [(str(entry.step), entry.at_ms - entry.fields["duration_s"] * 1000, entry.at_ms) for entry in steps]
    if not spans:
        return "<p>No step was done.</p>"
    start = min(begin for _, begin, _ in spans)
    scale = (_WIDTH - _LABEL) / max(max(end for *_, end in spans) - start, 1)
    bars = "".join(
        f'<text x="0" y="{row * _ROW + 16}">{_escaped(name)}</text>'
        f'<rect x="{_LABEL + (begin - start) * scale:.1f}" y="{row * _ROW + 4}" '
        f'width="{max((end - begin) * scale, 2):.1f}" height="{_ROW - 8}"/>'
        for row, (name, begin, end) in enumerate(spans)
    )
    height = len(spans) * _ROW
    label = "Steps of the lift over time"
    return f'<svg role="img" aria-label="{label}" viewBox="0 0 {_WIDTH} {height}" width="100%">{bars}</svg>'


def _step_row(entry: Entry) -> str:
    silent = entry.fields.get("longest_interruption_s")
    shown = "not measured" if silent is None else f"{silent} s"
    return f"<tr><td>{_escaped(entry.step)}</td><td>{entry.fields['duration_s']} s</td><td>{shown}</td></tr>"


def _losses(entries: Sequence[Entry]) -> str:
    losses = [loss for entry in entries if entry.event == "level-lowered" for loss in entry.fields["losses"]]
    if not losses:
        return "<p>Nothing.</p>"
    rows = "".join(
        f"<tr><td>{_escaped(loss.get('kind'))}</td><td>{_escaped(loss.get('detail'))}</td></tr>" for loss in losses
    )
    return f"<table><tr><th>kind</th><th>what</th></tr>{rows}</table>"


def _journal_row(entry: Entry) -> str:
    fields = ", ".join(_fields(entry))
    cells = (str(entry.at_ms), entry.step or "", entry.event, fields)
    return "<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in cells) + "</tr>"


def _fields(entry: Entry) -> Iterator[str]:
    for name, value in entry.fields.items():
        yield f"{name}: {len(value)}" if isinstance(value, list) else f"{name}: {value}"


def _escaped(text: object) -> str:
    return html.escape("" if text is None else str(text))
