"""The routes of the page. Every address shows the same to everybody: filters stand in it.

app = make_site(watch, token=None, stopping=asyncio.Event())    # an ASGI application
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from falkirk.watch.core.findings import WayState
from falkirk.watch.errors import WatchError
from falkirk.watch.page.access import SIGN_IN, Access
from falkirk.watch.page.board import SORTS, BoardQuery, can_rise_to, cell, make_board, sum_of
from falkirk.watch.page.comparison import compare
from falkirk.watch.page.lane import LABEL, ROW, WIDTH, make_picture
from falkirk.watch.page.lifts import read_lift
from falkirk.watch.page.query import ALL, ClusterQuery, contains, number, text
from falkirk.watch.page.ranges import make_ranges
from falkirk.watch.page.tables import TABLES, as_csv, as_json, board_rows, compared_rows, event_rows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from starlette.requests import Request

    from falkirk.watch.core.findings import Findings, FoundLoss, GroupState, WatchEvent
    from falkirk.watch.page.comparison import Comparison
    from falkirk.watch.watch import Watch

_EVENTS_MAX: Final = 500
_MOMENTS_MAX: Final = 300
_LOOK_S: Final = 0.5
# So that a connection that is gone is noticed.
_ALIVE_S: Final = 15.0


def make_site(watch: Watch, *, token: str | None, stopping: asyncio.Event) -> Starlette:
    """Return the application. `token`: None on the loopback.

    Streams of updates end when `stopping` is set.
    """
    site = _Site(watch, stopping)
    return Starlette(
        routes=[
            Route("/", site.board),
            Route("/board.{format}", site.board_table),
            Route("/cluster", site.cluster),
            Route("/cluster.{format}", site.cluster_table),
            Route("/compare", site.compare),
            Route("/compare.{format}", site.compared_table),
            Route("/updates", site.updates),
            Route(SIGN_IN, site.sign_in),
            Mount("/static", StaticFiles(packages=[("falkirk.watch.page", "static")])),
        ],
        middleware=[Middleware(Access, token=token)],
        exception_handlers={HTTPException: site.refused, WatchError: site.failed},
    )


class _Site:
    def __init__(self, watch: Watch, stopping: asyncio.Event) -> None:
        self._watch = watch
        self._stopping = stopping
        self._environment = Environment(
            loader=PackageLoader("falkirk.watch.page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._environment.filters.update(plain=_plain, time=_time, iso=_iso)
        self._environment.globals.update(
            states=list(WayState), cell=cell, sum_of=sum_of, all=ALL, can_rise_to=can_rise_to
        )

    async def board(self, request: Request) -> Response:
        values = request.query_params
        query = BoardQuery(
            q=text(values, "q"),
            release=text(values, "release", ALL),
            state=text(values, "state", ALL),
            sort=text(values, "sort", SORTS[0]),
        )
        board = make_board(self._watch.latest.values(), query)
        return self._page(
            "board.html", title="Clusters", board=board, query=query, sorts=SORTS, revision=self._revision(None)
        )

    async def board_table(self, request: Request) -> Response:
        clusters = sorted(self._watch.latest.values(), key=lambda found: found.cluster)
        return _table(request, "board", board_rows(clusters))

    async def cluster(self, request: Request) -> Response:
        found, values = self._found(request), request.query_params
        query = ClusterQuery(
            q=text(values, "q"),
            release=text(values, "release", ALL),
            kind=text(values, "kind", ALL),
            group=text(values, "group"),
        )
        events = self._events(found.cluster)
        directory = self._watch.lifts.get(found.cluster)
        return self._page(
            "cluster.html",
            title=found.cluster,
            found=found,
            query=query,
            losses=[loss for loss in found.losses if _is_wanted(loss, query)],
            kinds=sorted({loss.kind for loss in found.losses}),
            groups=[group for group in found.groups if _is_wanted_group(group, query)],
            events=list(reversed(events)),
            picture=make_picture(found, events, self._since(found.cluster)),
            sizes={"width": WIDTH, "label": LABEL, "row": ROW},
            ranges=make_ranges(found, query.release),
            lift=None if directory is None else read_lift(directory),
            revision=self._revision(found.cluster),
            has_journal=self._watch.journal is not None,
        )

    async def cluster_table(self, request: Request) -> Response:
        found, name = self._found(request), request.query_params.get("table", "ways")
        if name == "events":
            return _table(request, name, event_rows(self._events(found.cluster)))
        if name not in TABLES:
            raise HTTPException(404, f"no table {_plain(name)!r}: there are {', '.join([*TABLES, 'events'])}")
        return _table(request, name, TABLES[name](found))

    async def compare(self, request: Request) -> Response:
        found, moments, comparison = self._compared(request)
        return self._page(
            "compare.html",
            title=f"{found.cluster}: two moments",
            found=found,
            moments=list(reversed(moments)),
            begin_ms=comparison.before_ms,
            end_ms=number(request.query_params, "to"),
            comparison=comparison,
        )

    async def compared_table(self, request: Request) -> Response:
        return _table(request, "changes", compared_rows(self._compared(request)[2]))

    def _compared(self, request: Request) -> tuple[Findings, list[int], Comparison]:
        """Return the cluster, the moments that can be chosen, and what the address asks for."""
        found, journal = self._found(request), self._watch.journal
        if journal is None:
            raise HTTPException(404, "moments are kept in the journal: start the watch with --journal FILE")
        moments = journal.moments(found.cluster)[-_MOMENTS_MAX:]
        begin_ms = number(request.query_params, "from") or (moments[0] if moments else found.at_ms)
        end_ms = number(request.query_params, "to")
        before = journal.moment(found.cluster, begin_ms)
        after = found if end_ms is None else journal.moment(found.cluster, end_ms)
        if before is None or after is None:
            raise HTTPException(404, f"nothing is kept of {_plain(found.cluster)} at that time or before it")
        return found, moments, compare(before, after)

    async def updates(self, request: Request) -> Response:
        values = request.query_params
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        updates = self._updates(values.get("name"), text(values, "seen"))
        return StreamingResponse(updates, media_type="text/event-stream", headers=headers)

    async def _updates(self, name: str | None, seen: str) -> AsyncIterator[str]:
        """Yield an event whenever there is more than the reader has `seen`, until the page ends."""
        quiet_s = 0.0
        yield "retry: 2000\n\n"
        while not self._stopping.is_set():
            revision = self._revision(name)
            if revision != seen:
                seen, quiet_s = revision, 0.0
                yield f"event: findings\ndata: {revision}\n\n"
            elif quiet_s >= _ALIVE_S:
                quiet_s = 0.0
                yield ": alive\n\n"
            quiet_s += _LOOK_S
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _LOOK_S)

    def _revision(self, name: str | None) -> str:
        """Return what differs whenever a page would: of one cluster, of all without a name."""
        latest = self._watch.latest
        shown = list(latest.values()) if name is None else [latest[name]] if name in latest else []
        directory = None if name is None else self._watch.lifts.get(name)
        lift = None if directory is None else read_lift(directory)
        return f"{len(shown)}-{sum(found.at_ms for found in shown)}-{0 if lift is None else len(lift.entries)}"

    async def sign_in(self, request: Request) -> Response:
        return self._page("sign_in.html", title="Sign in", is_wrong="wrong" in request.query_params)

    async def refused(self, _request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        page = self._page("refused.html", title="Not found", reason=error.detail)
        page.status_code = error.status_code
        return page

    async def failed(self, _request: Request, error: Exception) -> Response:
        page = self._page("refused.html", title="Not known", reason=_plain(error))
        page.status_code = 503
        return page

    def _found(self, request: Request) -> Findings:
        name = request.query_params.get("name", "")
        if name not in self._watch.latest:
            raise HTTPException(404, f"no cluster {_plain(name)!r} is followed")
        return self._watch.latest[name]

    def _events(self, cluster: str) -> Sequence[WatchEvent]:
        """Return the newest events, rising."""
        if self._watch.journal is None:
            return ()
        return self._watch.journal.newest_events(cluster, _EVENTS_MAX)

    def _since(self, cluster: str) -> int | None:
        moments = [] if self._watch.journal is None else self._watch.journal.moments(cluster)
        return moments[0] if moments else None

    def _page(self, template: str, **values: Any) -> HTMLResponse:  # Any: what the template shows
        shown = self._environment.get_template(template).render(now=datetime.now(UTC), **values)
        return HTMLResponse(shown, headers={"Cache-Control": "no-store"})


def _is_wanted(loss: FoundLoss, query: ClusterQuery) -> bool:
    if query.release != ALL and query.release not in loss.releases:
        return False
    if query.kind not in {ALL, loss.kind}:
        return False
    return not query.q or contains(query.q, loss.kind, loss.key, loss.detail)


def _is_wanted_group(group: GroupState, query: ClusterQuery) -> bool:
    return not query.group or contains(query.group, group.group, group.type)


def _table(request: Request, name: str, rows: list[dict[str, Any]]) -> Response:  # Any: JSON values
    kind = request.path_params["format"]
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    if kind == "json":
        return Response(as_json(rows), media_type="application/json", headers={"Cache-Control": "no-store"})
    if kind == "csv":
        return Response(as_csv(rows), media_type="text/csv; charset=utf-8", headers=headers)
    raise HTTPException(404, "tables are there as .csv and .json")


def _plain(value: object) -> str:
    """Return a name from outside with what is not printable written out: control characters, changes of direction."""
    shown = str(value)
    if shown.isprintable():
        return shown
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in shown)


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
