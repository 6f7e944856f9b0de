"""The journal of a watch as rows: its events, and the ways at each moment that it keeps.

A journal is an SQLite file of version 1; docs/reference/watch.md has its tables. It may be read while a watch writes.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = dict[str, Any]  # Any: values of columns

_VERSION: Final = 1
_METADATA_VERSION: Final = "metadata.version"


class WatchJournalError(Exception):
    """The file is no journal, or cannot be read; one sentence that names it."""


class WatchJournal:
    """An open journal, and one of its clusters. Every method raises WatchJournalError."""

    def __init__(self, database: sqlite3.Connection, source: str, cluster: str) -> None:
        self._database = database
        self._source = source
        self._cluster = cluster

    def cluster_id(self) -> str:
        """Return the id that the cluster has now."""
        with self._named():
            row = self._database.execute("SELECT cluster_id FROM clusters WHERE name = ?", (self._cluster,)).fetchone()
            if row is None:
                names = [name for (name,) in self._database.execute("SELECT name FROM clusters ORDER BY name")]
                known = ", ".join(names) or "none"
                raise WatchJournalError(f"{self._source}: follows no cluster {self._cluster!r}, but {known}")
            return str(row[0])

    def extent(self) -> tuple[object, ...]:
        """Return what changes whenever rows come or go."""
        with self._named():
            events = self._database.execute(
                "SELECT count(*), max(id), max(key) FROM events WHERE cluster = ?", (self._cluster,)
            ).fetchone()
            moments = self._database.execute(
                "SELECT count(*), min(at_ms), max(at_ms) FROM moments WHERE cluster = ?", (self._cluster,)
            ).fetchone()
            return (*events, *moments)

    def events(self) -> Iterator[Row]:
        """Yield the rows of `watch_events`, in the order in which they were stored."""
        with self._named():
            found = self._database.execute(
                "SELECT id, noted_ms, document FROM events WHERE cluster = ? ORDER BY id", (self._cluster,)
            )
            for event_id, noted_ms, document in found:
                yield {
                    "source": self._source,
                    "event_id": event_id,
                    "noted_at": _time(noted_ms),
                    **_event(msgspec.json.decode(document)),
                }

    def ways(self) -> Iterator[Row]:
        """Yield the rows of `watch_ways`, by moment and release."""
        with self._named():
            found = self._database.execute(
                "SELECT document FROM moments WHERE cluster = ? ORDER BY at_ms", (self._cluster,)
            )
            for (document,) in found:
                yield from ({"source": self._source, **row} for row in _ways(msgspec.json.decode(document)))

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
            raise WatchJournalError(f"{self._source}: not a journal of falkirk watch: {error}") from error


@contextmanager
def reading_journal(path: str, cluster: str) -> Iterator[WatchJournal]:
    """Open a journal to read one of its clusters. Raises WatchJournalError."""
    try:
        database = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise WatchJournalError(f"{path}: {error}") from error
    with closing(database):
        try:
            # One transaction, so that all rows are of one moment.
            database.execute("BEGIN")
            [version] = database.execute("PRAGMA user_version").fetchone()
        except sqlite3.Error as error:
            raise WatchJournalError(f"{path}: {error}") from error
        if version != _VERSION:
            raise WatchJournalError(f"{path}: a journal of version {version}; this program reads {_VERSION}")
        yield WatchJournal(database, path, cluster)


def _event(event: dict[str, Any]) -> Row:  # Any: JSON values
    loss = event["fields"].get("loss") or {}
    place = loss.get("place") or {}
    return {
        "key": event["key"],
        "kind": event["kind"],
        "release": event["release"],
        "at": _time(event["at_ms"]),
        "cluster_id": event["cluster_id"],
        "text": event["text"],
        "loss_kind": loss.get("kind"),
        "loss_key": loss.get("key"),
        "log": place.get("log"),
        "offset": place.get("offset"),
        "record": place.get("record"),
        "fields": msgspec.json.encode(event["fields"]).decode(),
    }


def _ways(findings: dict[str, Any]) -> Iterator[Row]:  # Any: JSON values
    finalized = {each["feature"]: each["finalized"] for each in findings["features"]}
    lowest = findings["lowest"]
    for way in findings["ways"]:
        closing_loss = way["point_of_no_return"]
        closed_ms = None if closing_loss is None else closing_loss["place"]["timestamp_ms"]
        yield {
            "at": _time(findings["at_ms"]),
            "cluster_id": findings["cluster_id"],
            "metadata_version": finalized.get(_METADATA_VERSION),
            "lowest_level": None if lowest is None else lowest["level"],
            "release": way["release"],
            "level": way["level"],
            "state": way["state"],
            "losses": sum(way["losses"].values()),
            "losses_by_kind": [{"kind": kind, "count": count} for kind, count in sorted(way["losses"].items())],
            "blockers": len(way["blockers"]),
            "closed_at": None if closed_ms is None else _time(closed_ms),
            "closed_by": None if closing_loss is None else closing_loss["detail"],
        }


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
