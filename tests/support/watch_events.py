"""Events and bookmarks for tests of a watch's journal and alarms."""

from falkirk.watch.core.findings import EventKind, WatchEvent
from falkirk.watch.core.transitions import KnownWay
from falkirk.watch.journal import Bookmark

ALL = frozenset(EventKind)


def event(key: str, kind: EventKind = EventKind.WAY_CLOSED, text: str | None = None) -> WatchEvent:
    return WatchEvent(
        key=key,
        kind=kind,
        at_ms=5,
        cluster="prod",
        cluster_id="id",
        release="3.9",
        fields={},
        text=text or f"text of {key}",
    )


def bookmark(offset: int, known: dict[str, KnownWay] | None = None) -> Bookmark:
    return Bookmark(cluster_id="id", end_offset=offset, known=known or {})
