"""The journal of a watch, in SQLite: what is known of each way, every event once, and what was not delivered yet.

One transaction has the events, the ways after them, how far the metadata log was read, and one delivery for each
alarm. So a watch that is killed at any point finds either all of it or nothing, and reads the log again from there.
"""

from __future__ import annotations

import fcntl
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

import msgspec

from falkirk.watch.core.findings import Findings, WatchEvent
from falkirk.watch.core.transitions import KnownWay
from falkirk.watch.errors import WatchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from falkirk.watch.core.findings import EventKind

_VERSION: Final = 1
_MOMENTS_KEPT: Final = 2000
_SCHEMA: Final = """
CREATE TABLE clusters (
    name TEXT PRIMARY KEY, cluster_id TEXT NOT NULL, end_offset INTEGER NOT NULL, at_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE ways (
    cluster TEXT NOT NULL, release TEXT NOT NULL, is_closed INTEGER, is_blocked INTEGER,
    PRIMARY KEY (cluster, release)
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, cluster TEXT NOT NULL, kind TEXT NOT NULL, release TEXT,
    at_ms INTEGER NOT NULL, noted_ms INTEGER NOT NULL, document TEXT NOT NULL
) STRICT;
CREATE INDEX events_of_cluster ON events (cluster, at_ms);
CREATE TABLE deliveries (
    event_id INTEGER NOT NULL REFERENCES events (id), channel TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    next_ms INTEGER NOT NULL, delivered_ms INTEGER, reason TEXT,
    PRIMARY KEY (event_id, channel)
) STRICT, WITHOUT ROWID;
CREATE INDEX waiting ON deliveries (channel, event_id) WHERE delivered_ms IS NULL;
CREATE TABLE moments (
    cluster TEXT NOT NULL, at_ms INTEGER NOT NULL, document TEXT NOT NULL, PRIMARY KEY (cluster, at_ms)
) STRICT, WITHOUT ROWID;
"""


class Bookmark(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster as the journal knows it: its id, how far its metadata log was read, and its ways by release."""

    cluster_id: str
    end_offset: int
    known: Mapping[str, KnownWay]


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """An alarm to be delivered. `attempts`: those that have failed; `next_ms`: when it is due."""

    event_id: int
    channel: str
    attempts: int
    next_ms: int
    event: WatchEvent


class Journal:
    """An open journal. Every method raises WatchError, naming the file, if it cannot be read or written."""

    def __init__(self, path: Path) -> None:
        """Open or create it; one process at a time may."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = path.with_name(f"{path.name}.lock").open("w")
        except OSError as error:
            raise WatchError(f"{path}: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise WatchError(f"{path}: another watch has this journal open") from error
        try:
            with self._named():
                self._database = sqlite3.connect(path, isolation_level=None)
                self._open()
        except WatchError:
            self._lock.close()
            raise

    def _open(self) -> None:
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        [version] = self._database.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._database.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
        elif version != _VERSION:
            raise WatchError(f"{self.path}: a journal of version {version}; this program has {_VERSION}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the journal and let others open it."""
        self._database.close()
        self._lock.close()

    def bookmark(self, cluster: str) -> Bookmark | None:
        """Return where a cluster of this name was left; None if it is new."""
        with self._named():
            row = self._database.execute(
                "SELECT cluster_id, end_offset FROM clusters WHERE name = ?", (cluster,)
            ).fetchone()
            if row is None:
                return None
            ways = self._database.execute(
                "SELECT release, is_closed, is_blocked FROM ways WHERE cluster = ?", (cluster,)
            )
            known = {
                release: KnownWay(is_closed=_truth(is_closed), is_blocked=_truth(is_blocked))
                for release, is_closed, is_blocked in ways
            }
            return Bookmark(cluster_id=row[0], end_offset=row[1], known=known)

    def commit(
        self,
        cluster: str,
        bookmark: Bookmark,
        events: Sequence[WatchEvent],
        channels: Mapping[str, frozenset[EventKind]],
        now_ms: int,
    ) -> None:
        """Store events, an undelivered alarm of each for every channel that wants its kind, and where the cluster is.

        All of it or nothing is stored; an event whose key is there already is not stored again.
        """
        with self._named(), self._transaction():
            execute = self._database.execute
            for event in events:
                document = msgspec.json.encode(event).decode()
                inserted = execute(
                    "INSERT OR IGNORE INTO events (key, cluster, kind, release, at_ms, noted_ms, document) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (event.key, event.cluster, event.kind.value, event.release, event.at_ms, now_ms, document),
                )
                if inserted.rowcount:
                    for channel in (name for name, kinds in channels.items() if event.kind in kinds):
                        execute(
                            "INSERT INTO deliveries (event_id, channel, next_ms) VALUES (?, ?, ?)",
                            (inserted.lastrowid, channel, now_ms),
                        )
            execute(
                "INSERT INTO clusters VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
                "cluster_id = excluded.cluster_id, end_offset = excluded.end_offset, at_ms = excluded.at_ms",
                (cluster, bookmark.cluster_id, bookmark.end_offset, now_ms),
            )
            execute("DELETE FROM ways WHERE cluster = ?", (cluster,))
            self._database.executemany(
                "INSERT INTO ways VALUES (?, ?, ?, ?)",
                [(cluster, release, way.is_closed, way.is_blocked) for release, way in bookmark.known.items()],
            )

    def add_moment(self, findings: Findings) -> None:
        """Keep findings as of now, so that moments can be compared; the oldest ones of a cluster go."""
        with self._named(), self._transaction():
            self._database.execute(
                "INSERT OR REPLACE INTO moments VALUES (?, ?, ?)",
                (findings.cluster, findings.at_ms, msgspec.json.encode(findings).decode()),
            )
            self._database.execute(
                "DELETE FROM moments WHERE cluster = ? AND at_ms <= "
                "(SELECT at_ms FROM moments WHERE cluster = ? ORDER BY at_ms DESC LIMIT 1 OFFSET ?)",
                (findings.cluster, findings.cluster, _MOMENTS_KEPT),
            )

    def moments(self, cluster: str) -> list[int]:
        """Return the times (ms) of the findings that are kept, rising."""
        with self._named():
            found = self._database.execute("SELECT at_ms FROM moments WHERE cluster = ? ORDER BY at_ms", (cluster,))
            return [at_ms for (at_ms,) in found]

    def moment(self, cluster: str, at_ms: int) -> Findings | None:
        """Return the last findings that are kept of a time or before; None if there are none."""
        with self._named():
            row = self._database.execute(
                "SELECT document FROM moments WHERE cluster = ? AND at_ms <= ? ORDER BY at_ms DESC LIMIT 1",
                (cluster, at_ms),
            ).fetchone()
            return None if row is None else msgspec.json.decode(row[0], type=Findings)

    def events(
        self, cluster: str | None = None, *, after_id: int = 0, limit: int = 1000
    ) -> list[tuple[int, WatchEvent]]:
        """Return events and their ids, rising, of one cluster or of all."""
        with self._named():
            found = self._database.execute(
                "SELECT id, document FROM events WHERE id > ? AND (? IS NULL OR cluster = ?) ORDER BY id LIMIT ?",
                (after_id, cluster, cluster, limit),
            )
            return [(number, msgspec.json.decode(document, type=WatchEvent)) for number, document in found]

    def newest_events(self, cluster: str, limit: int) -> list[WatchEvent]:
        """Return the last events of a cluster, rising."""
        with self._named():
            found = self._database.execute(
                "SELECT document FROM events WHERE cluster = ? ORDER BY id DESC LIMIT ?", (cluster, limit)
            ).fetchall()
            return [msgspec.json.decode(document, type=WatchEvent) for (document,) in reversed(found)]

    def next_of(self, channels: Iterable[str]) -> list[Delivery]:
        """Return the first alarm of each of the channels that has not arrived."""
        with self._named():
            found = []
            for channel in channels:
                row = self._database.execute(
                    "SELECT event_id, attempts, next_ms, document FROM deliveries JOIN events ON id = event_id "
                    "WHERE channel = ? AND delivered_ms IS NULL ORDER BY event_id LIMIT 1",
                    (channel,),
                ).fetchone()
                if row is not None:
                    event = msgspec.json.decode(row[3], type=WatchEvent)
                    found.append(
                        Delivery(event_id=row[0], channel=channel, attempts=row[1], next_ms=row[2], event=event)
                    )
            return found

    def waiting_count(self) -> int:
        """Count alarms that have not arrived."""
        with self._named():
            [count] = self._database.execute("SELECT count(*) FROM deliveries WHERE delivered_ms IS NULL").fetchone()
            return int(count)

    def delivered(self, delivery: Delivery, now_ms: int) -> None:
        """Note that an alarm has arrived."""
        with self._named():
            self._database.execute(
                "UPDATE deliveries SET delivered_ms = ?, attempts = attempts + 1, reason = NULL "
                "WHERE event_id = ? AND channel = ?",
                (now_ms, delivery.event_id, delivery.channel),
            )

    def failed(self, delivery: Delivery, reason: str, next_ms: int) -> None:
        """Note that an alarm has not arrived, and when it is tried again."""
        with self._named():
            self._database.execute(
                "UPDATE deliveries SET next_ms = ?, attempts = attempts + 1, reason = ? "
                "WHERE event_id = ? AND channel = ?",
                (next_ms, reason, delivery.event_id, delivery.channel),
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, msgspec.MsgspecError) as error:
            raise WatchError(f"{self.path}: {error}") from error


def _truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)
