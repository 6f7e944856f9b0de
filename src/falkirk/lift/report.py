"""The report of a lift: a page with its time line, the interruptions that were measured, and what was lost."""

from __future__ import annotations

import html
from datetime import UTC, datetime
from string import Template
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.lift.journal import Journal
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from falkirk.lift.journal import Entry

REPORT: Final = "report.html"
_WIDTH: Final = 900
_ROW: Final = 24
_LABEL: Final = 90
# What an entry of a finished step has of the state after it.
_FIELDS: Final = {"level": "level", "leader": "leader_id"}
_PAGE: Final = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Lift of $cluster</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
rect { fill: #3b6ea5; } rect.lost { fill: #b3412e; } text { font-size: 13px; fill: currentColor; }
text.value { fill: #fff; }
@media (prefers-color-scheme: dark) { body { background: #15181c; color: #e4e6e8; } rect { fill: #4f82b8; } }
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


class _Bar(NamedTuple):
    """A bar of the time line, in a row with a label; `text`: in the bar; `style`: its class."""

    row: int
    label: str
    begin_ms: float
    end_ms: float
    text: str | None = None
    style: str = "was"


def write_report(directory: Path) -> Path:
    """Write `report.html` from the journal of a lift; return its path. Raises LiftError, OSError."""
    journal = Journal(directory)
    entries, originals = journal.read(), journal.originals()
    steps = [entry for entry in entries if entry.event == "done"]
    page = _PAGE.substitute(
        cluster=_escaped(None if originals is None else originals.cluster_id),
        verdict=_escaped(_verdict(entries)),
        plot=_plot(entries),
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


def _bars(entries: Sequence[Entry]) -> Iterator[_Bar]:
    """Yield the steps, each in a row of its own, and beneath the level, the leader and the interruptions."""
    begun = [entry for entry in entries if entry.event == "originals"]
    steps = [entry for entry in entries if entry.event == "done"]
    for row, entry in enumerate(steps):
        yield _Bar(row, str(entry.step), _begin_ms(entry), entry.at_ms)
    for row, (name, first) in enumerate((("level", _level), ("leader", _leader)), start=len(steps)):
        since_ms, value = (begun[0].at_ms, first(begun[0])) if begun else (0, None)
        for entry in steps:
            found = entry.fields.get(_FIELDS[name])
            if found is not None and str(found) != value:
                yield _Bar(row, name, since_ms, entry.at_ms, text=value)
                since_ms, value = entry.at_ms, str(found)
        yield _Bar(row, name, since_ms, steps[-1].at_ms, text=value)
    for entry in steps:
        for each in entry.fields.get("interruptions", ()):
            end_ms = each["at_ms"] + each["duration_s"] * 1000
            yield _Bar(len(steps) + len(_FIELDS), "no writes", each["at_ms"], end_ms, style="lost")


def _plot(entries: Sequence[Entry]) -> str:
    """Draw the time line."""
    if not any(entry.event == "done" for entry in entries):
        return "<p>No step was done.</p>"
    bars = list(_bars(entries))
    start = min(bar.begin_ms for bar in bars)
    scale = (_WIDTH - _LABEL) / max(max(bar.end_ms for bar in bars) - start, 1)
    rows = {bar.row: bar.label for bar in bars}
    labels = "".join(f'<text x="0" y="{row * _ROW + 16}">{_escaped(label)}</text>' for row, label in rows.items())
    shapes = "".join(_shape(bar, _LABEL + (bar.begin_ms - start) * scale, scale) for bar in bars)
    label = "Steps of the lift over time, with the level, the leader, and the time without metadata writes"
    box = f"0 0 {_WIDTH} {(max(rows) + 1) * _ROW}"
    return f'<svg role="img" aria-label="{label}" viewBox="{box}" width="100%">{labels}{shapes}</svg>'


def _shape(bar: _Bar, x: float, scale: float) -> str:
    width = max((bar.end_ms - bar.begin_ms) * scale, 2)
    shape = f'<rect class="{bar.style}" x="{x:.1f}" y="{bar.row * _ROW + 4}" width="{width:.1f}" height="{_ROW - 8}"/>'
    text = (
        ""
        if bar.text is None
        else f'<text class="value" x="{x + 4:.1f}" y="{bar.row * _ROW + 16}">{_escaped(bar.text)}</text>'
    )
    return shape + text


def _begin_ms(step: Entry) -> float:
    duration_s: float = step.fields["duration_s"]
    return step.at_ms - duration_s * 1000


def _level(originals: Entry) -> str | None:
    level = originals.fields["levels"].get(METADATA_VERSION)
    return None if level is None else str(MetadataVersion.of_level(level))


def _leader(originals: Entry) -> str:
    return str(originals.fields["leader_id"])


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
    at = datetime.fromtimestamp(entry.at_ms / 1000, UTC).isoformat(sep=" ", timespec="milliseconds")
    cells = (at, entry.step or "", entry.event, fields)
    return "<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in cells) + "</tr>"


def _fields(entry: Entry) -> Iterator[str]:
    for name, value in entry.fields.items():
        yield f"{name}: {len(value)}" if isinstance(value, list | dict) else f"{name}: {value}"


def _escaped(text: object) -> str:
    return html.escape("" if text is None else str(text))
