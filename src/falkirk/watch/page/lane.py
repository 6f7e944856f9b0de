"""A cluster's history as lanes of time: its levels, and for each older release when the way was open or closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.versions.errors import VersionsError
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.watch.core.findings import EventKind, WayState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from falkirk.watch.core.findings import Findings, WatchEvent, Way

WIDTH: Final = 1000
LABEL: Final = 90
ROW: Final = 26
_STATES: Final = {EventKind.WAY_CLOSED: WayState.CLOSED.value, EventKind.WAY_OPENED: WayState.OPEN.value}
_UNSEEN: Final = "unseen"
_MINUTE_MS: Final = 60_000
# Room before the first thing that happened, as a share of the whole time.
_BEFORE: Final = 0.05


class Span(NamedTuple):
    """A bar from `x`, in a picture WIDTH wide; `state` is its class, `text` stands in it, `title` beside it."""

    x: float
    width: float
    state: str
    text: str
    title: str


class Mark(NamedTuple):
    """A point of no return."""

    x: float
    title: str


class Lane(NamedTuple):
    """One row; `y` is its top."""

    label: str
    y: int
    spans: tuple[Span, ...]
    marks: tuple[Mark, ...]


class Picture(NamedTuple):
    """All rows, and the times of both ends."""

    lanes: tuple[Lane, ...]
    height: int
    begin_ms: int
    end_ms: int


class _Change(NamedTuple):
    """What a lane shows from `at_ms` on."""

    at_ms: int
    state: str
    text: str
    title: str


class _Row(NamedTuple):
    """What a lane is drawn from; `points`: times and titles of marks."""

    label: str
    changes: Sequence[_Change]
    points: tuple[tuple[int, str], ...]


def make_picture(found: Findings, events: Sequence[WatchEvent], since_ms: int | None = None) -> Picture:
    """Return the lanes of a cluster; the time begins shortly before the first thing that is known.

    `since_ms`: when the watch first knew everything; None: it keeps no journal.
    """
    events = sorted(events, key=lambda event: event.at_ms)
    rows = [_Row("level", _levels(found, events), ())]
    rows += [
        _Row(f"to {way.release}", _changes(way, events, since_ms), tuple(_points(way))) for way in reversed(found.ways)
    ]
    times = [change.at_ms for row in rows for change in row.changes if change.at_ms]
    times += [at_ms for row in rows for at_ms, _ in row.points]
    end_ms = max([found.at_ms, *times])
    first_ms = min([*times, end_ms - _MINUTE_MS])
    begin_ms = first_ms - int((end_ms - first_ms) * _BEFORE)
    scale = _Scale(begin_ms, end_ms)
    lanes = tuple(
        Lane(
            row.label,
            number * ROW,
            tuple(_spans(row.changes, scale)),
            tuple(Mark(scale.x(at_ms), title) for at_ms, title in row.points),
        )
        for number, row in enumerate(rows)
    )
    return Picture(lanes, len(rows) * ROW, begin_ms, end_ms)


class _Scale(NamedTuple):
    begin_ms: int
    end_ms: int

    def x(self, at_ms: int) -> float:
        """Return where a time is."""
        share = (max(at_ms, self.begin_ms) - self.begin_ms) / max(self.end_ms - self.begin_ms, 1)
        return round(LABEL + (WIDTH - LABEL) * min(share, 1.0), 1)


def _levels(found: Findings, events: Iterable[WatchEvent]) -> list[_Change]:
    changes: list[_Change] = []
    for event in events:
        if event.kind is EventKind.LEVEL_CHANGED:
            if not changes:
                changes.append(_Change(0, "level", str(event.fields["from"]), str(event.fields["from"])))
            changes.append(_Change(event.at_ms, "level", str(event.fields["to"]), event.text))
    level = found.metadata_version or "not known"
    return changes or [_Change(0, "level", level, level)]


def _changes(way: Way, events: Sequence[WatchEvent], since_ms: int | None) -> list[_Change]:
    """Return what the lane of a way shows: what events say, and grey where nobody knows."""
    changes = [change for event in events if (change := _change(way, event)) is not None]
    if not changes:
        return _without_events(way)
    first = changes[0].state
    if first == WayState.OPEN:
        changes.insert(0, _Change(0, WayState.CLOSED.value, "", "closed before"))
    else:
        before = [_Change(0, _UNSEEN, "", "before the watch saw it")]
        if since_ms is not None and since_ms < changes[0].at_ms and _was_known_open(way, events):
            before.append(_Change(since_ms, WayState.OPEN.value, "", "open when the watch began"))
        changes = before + changes
    return changes


def _was_known_open(way: Way, events: Iterable[WatchEvent]) -> bool:
    """Return whether the first event of a way is that it closed, and it was known to be open."""
    first = next((event for event in events if event.kind in _STATES and event.release == way.release), None)
    return first is not None and first.kind is EventKind.WAY_CLOSED and bool(first.fields.get("was_known"))


def _change(way: Way, event: WatchEvent) -> _Change | None:
    """Return what an event changes in the lane of a way; None if nothing."""
    if event.kind in _STATES and event.release == way.release:
        return _Change(event.at_ms, _STATES[event.kind], "", event.text)
    if event.kind is not EventKind.LEVEL_CHANGED:
        return None
    before, after = (_level(event.fields[end]) for end in ("from", "to"))
    if after is not None and after <= way.level:
        return _Change(event.at_ms, WayState.NOT_BELOW.value, "", f"{event.text}: not below {way.release}")
    if before is not None and before <= way.level:
        return _Change(event.at_ms, _UNSEEN, "", event.text)
    return None


def _level(name: object) -> int | None:
    try:
        return MetadataVersion.parse(str(name)).level
    except VersionsError:
        return None


def _without_events(way: Way) -> list[_Change]:
    point = way.point_of_no_return
    if way.state is WayState.CLOSED and point is not None and point.place.timestamp_ms is not None:
        return [
            _Change(0, _UNSEEN, "", "before the watch saw it"),
            _Change(point.place.timestamp_ms, WayState.CLOSED.value, "", point.detail),
        ]
    return [_Change(0, way.state.value, "", way.state.value.replace("_", " "))]


def _points(way: Way) -> Iterator[tuple[int, str]]:
    point = way.point_of_no_return
    if way.state is WayState.CLOSED and point is not None and point.place.timestamp_ms is not None:
        yield point.place.timestamp_ms, f"point of no return to {way.release}: {point.detail} ({point.place})"


def _spans(changes: Sequence[_Change], scale: _Scale) -> Iterator[Span]:
    ends = [change.at_ms for change in changes[1:]] + [scale.end_ms]
    for change, end_ms in zip(changes, ends, strict=True):
        x = scale.x(change.at_ms)
        yield Span(x, max(round(scale.x(end_ms) - x, 1), 1.0), change.state, change.text, change.title)
