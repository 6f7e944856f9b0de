"""Each table of the pages as CSV and as JSON."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from falkirk.ledger.open_transaction import OpenTransaction
    from falkirk.watch.core.findings import Findings, WatchEvent
    from falkirk.watch.page.comparison import Comparison

Row = dict[str, Any]  # Any: JSON values
# A spreadsheet takes a text that begins so for a formula.
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


def board_rows(clusters: Iterable[Findings]) -> list[Row]:
    """Return one row for each way of each cluster."""
    return [
        {"cluster": found.cluster, "cluster_id": found.cluster_id, "metadata_version": found.metadata_version, **row}
        for found in clusters
        for row in way_rows(found)
    ]


def way_rows(found: Findings) -> list[Row]:
    """Return one row for each older release."""
    return [
        {
            "release": way.release,
            "level": way.level,
            "name": way.name,
            "state": way.state.value,
            "losses": sum(way.losses.values()),
            "blockers": [blocker.text for blocker in way.blockers],
            "point_of_no_return_ms": None
            if way.point_of_no_return is None
            else way.point_of_no_return.place.timestamp_ms,
            "point_of_no_return": None if way.point_of_no_return is None else way.point_of_no_return.detail,
            "unknown": list(way.unknown),
        }
        for way in found.ways
    ]


def _rows(values: Sequence[msgspec.Struct | OpenTransaction]) -> list[Row]:
    return [msgspec.to_builtins(value) for value in values]


TABLES: Final[Mapping[str, Callable[[Findings], list[Row]]]] = {
    "ways": way_rows,
    "losses": lambda found: _rows(found.losses),
    "groups": lambda found: _rows(found.groups),
    "transactions": lambda found: _rows(found.transactions),
    "nodes": lambda found: _rows(found.nodes),
    "features": lambda found: _rows(found.features),
    "drift": lambda found: _rows(found.drift),
    "sources": lambda found: _rows(found.sources),
}
"""The tables of one cluster, by name; `events` come from the journal."""


def compared_rows(comparison: Comparison) -> list[Row]:
    """Return one row for each thing that changed, and each loss that appeared or is gone."""
    rows: list[Row] = [
        {"what": change.what, "before": change.before, "after": change.after} for change in comparison.changes
    ]
    rows += [{"what": f"loss {loss.kind}", "before": None, "after": loss.detail} for loss in comparison.appeared]
    rows += [{"what": f"loss {loss.kind}", "before": loss.detail, "after": None} for loss in comparison.gone]
    return rows


def event_rows(events: Iterable[WatchEvent]) -> list[Row]:
    """Return one row for each event."""
    return [event.as_json() for event in events]


def as_csv(rows: Sequence[Row]) -> str:
    """Return rows as CSV with a header; what is no text or number is JSON, and a text is never a formula."""
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({name: _csv_value(value) for name, value in row.items()})
    return out.getvalue()


def as_json(rows: Sequence[Row]) -> bytes:
    """Return rows as a JSON array."""
    return msgspec.json.encode(rows)


def _csv_value(value: object) -> object:
    if value is None or isinstance(value, int):
        return value
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f"'{text}" if text.startswith(_FORMULAS) else text
