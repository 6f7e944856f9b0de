"""The board: clusters by older release, filtered and sorted by the address of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.operations.lift_findings import level_name
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.watch.core.findings import WayState
from falkirk.watch.page.query import ALL, contains

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.watch.core.findings import Findings, Way

SORTS: Final = ("name", "level", "lowest", "closed")
SYMBOLS: Final[Mapping[WayState, str]] = {
    WayState.OPEN: "✓",
    WayState.CLOSED: "✗",
    WayState.BLOCKED: "!",
    WayState.UNKNOWN: "?",
    WayState.NOT_BELOW: "-",
}


class Cell(NamedTuple):
    """One way on the board; `title` is the whole sentence."""

    state: WayState
    symbol: str
    label: str
    title: str


class BoardQuery(NamedTuple):
    """What of the board is shown: names that contain `q`, clusters whose way to `release` has `state`."""

    q: str = ""
    release: str = ALL
    state: str = ALL
    sort: str = SORTS[0]


class Board(NamedTuple):
    """Rows of the board, and counts of all clusters by release and state."""

    releases: tuple[str, ...]
    rows: tuple[tuple[Findings, tuple[Cell, ...]], ...]
    cluster_count: int
    counts: Mapping[str, Mapping[str, int]]


def make_board(clusters: Iterable[Findings], query: BoardQuery) -> Board:
    """Return the board that a query asks for."""
    known = sorted(clusters, key=lambda found: found.cluster)
    releases = tuple(way.release for way in known[0].ways) if known else ()
    shown = sorted(
        (found for found in known if _is_wanted(found, query)), key=lambda found: _sort_key(found, query.sort)
    )
    return Board(
        releases=releases,
        rows=tuple((found, tuple(map(cell, found.ways))) for found in shown),
        cluster_count=len(known),
        counts={release: _counts(release, known) for release in releases},
    )


def cell(way: Way) -> Cell:
    """Return a way in a few words, and in a sentence."""
    label, title = _words(way)
    return Cell(way.state, SYMBOLS[way.state], label, f"{way.release} ({way.name}): {title}")


def can_rise_to(found: Findings) -> str | None:
    """Return the name of the metadata.version that the cluster could finalize and has not; None if there is none."""
    [level] = [each.can_rise_to for each in found.features if each.feature == METADATA_VERSION] or [None]
    return None if level is None else level_name(level)


def sum_of(counts: Mapping[str, int]) -> int:
    """Return the number of all kinds."""
    return sum(counts.values())


def _words(way: Way) -> tuple[str, str]:
    match way.state:
        case WayState.OPEN:
            ends = sum_of(way.cut_off)
            after = f"; lowered while it runs, {ends} members or transactions end" if ends else ""
            return "can go", f"nothing would be lost{after}"
        case WayState.CLOSED:
            number = sum_of(way.losses)
            since = "" if way.point_of_no_return is None else f", first {way.point_of_no_return.detail}"
            return f"would lose {number}", f"{number} would be lost{since}"
        case WayState.BLOCKED:
            return "blocked", "; ".join(map(str, way.blockers))
        case WayState.UNKNOWN:
            return "not known", "; ".join(way.unknown) or "not known"
    return "not below", "its level is not below the finalized one"


def _is_wanted(found: Findings, query: BoardQuery) -> bool:
    if query.q and not contains(query.q, found.cluster, found.cluster_id, found.metadata_version):
        return False
    if query.state == ALL:
        return True
    ways = found.ways if query.release == ALL else [way for way in found.ways if way.release == query.release]
    return any(way.state.value == query.state for way in ways)


def _sort_key(found: Findings, sort: str) -> tuple[int, str]:
    """Return what a cluster is sorted by: what is highest stands first, then the name decides."""
    if sort == "level":
        return -_metadata_level(found), found.cluster
    if sort == "lowest":
        return -(found.lowest.level if found.lowest else -1), found.cluster
    if sort == "closed":
        return -sum(way.state is WayState.CLOSED for way in found.ways), found.cluster
    return 0, found.cluster


def _metadata_level(found: Findings) -> int:
    return next((each.finalized for each in found.features if each.feature == METADATA_VERSION), -1)


def _counts(release: str, clusters: Sequence[Findings]) -> Mapping[str, int]:
    found = dict.fromkeys((state.value for state in WayState), 0)
    for cluster in clusters:
        way = cluster.way(release)
        if way is not None:
            found[way.state.value] += 1
    return found
