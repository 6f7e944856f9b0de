"""Many clusters followed at once: findings for whoever iterates, events for the journal, alarms for the world.

async with Watch(read_watch_file(path), path.parent) as watch:
    async for findings in watch.findings():
        print(findings.cluster, [(way.release, way.state) for way in findings.ways])
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import msgspec

from falkirk.printable import printable
from falkirk.temporary_folder import temporary_folder
from falkirk.watch.alarms import Deliverer
from falkirk.watch.core.findings import EventKind, Source, WatchEvent
from falkirk.watch.errors import WatchError
from falkirk.watch.follower import Follower
from falkirk.watch.journal import Bookmark, Journal
from falkirk.watch.watch_file import lifts_of, read_watch_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from falkirk.watch.core.findings import Findings
    from falkirk.watch.watch_file import WatchedCluster, WatchFile

_INTERVAL_S: Final = 0.25
# What has not changed is published anew that often, for it gets older.
_REPEAT_S: Final = 5.0
_COMMIT_S: Final = 1.0
_MOMENT_S: Final = 3600.0
# Of a processor, at most this share goes into findings.
_SHARE_MAX: Final = 0.1


class _Followed:
    """A follower, its task, and what of it was stored and published when (monotonic seconds)."""

    def __init__(self, follower: Follower, task: asyncio.Task[None]) -> None:
        self.follower = follower
        self.task = task
        self.revision: tuple[object, ...] = ()
        self.published_s = 0.0
        self.not_before_s = 0.0
        self.committed_s = 0.0
        self.committed_offset = -1
        self.moment_s = 0.0
        self.events: list[WatchEvent] = []


class Watch:
    """The clusters of a watch file; everything runs while its block does. `folder`: that of relative paths."""

    def __init__(self, file: WatchFile, folder: Path) -> None:
        """Check everything that the file names. Raises WatchError."""
        self._folder = folder
        self._pace = file.make_pace()
        self._sources = {cluster.name: cluster.source(folder) for cluster in file.clusters}
        self._connections = {cluster.name: cluster.connection for cluster in file.clusters}
        # Directories of lifts, by cluster.
        self.lifts = lifts_of(file.clusters, folder)
        self._channels = file.channels(folder)
        self._journal_path = None if file.journal is None else folder / file.journal
        self.journal: Journal | None = None
        self.latest: dict[str, Findings] = {}
        self.journal_reason: str | None = None
        # Alarms that have not arrived, as of the last look; None without a journal.
        self.waiting_count: int | None = None
        self._followed: dict[str, _Followed] = {}
        self._readers: set[asyncio.Queue[str]] = set()
        self._event_readers: set[asyncio.Queue[WatchEvent]] = set()
        self._deliverer: Deliverer | None = None
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._tail_folder = Path()

    async def __aenter__(self) -> Self:
        """Open the journal and begin to follow. Raises WatchError."""
        if self._journal_path is not None:
            self.journal = self._stack.enter_context(Journal(self._journal_path))
            self._deliverer = Deliverer(self.journal, self._channels)
        self._tail_folder = self._stack.enter_context(temporary_folder("falkirk-watch-"))
        for name in self._sources:
            self._start(name)
        self._tasks.append(asyncio.create_task(self._publish()))
        if self._deliverer is not None:
            self._tasks.append(asyncio.create_task(self._deliver(self._deliverer)))
        return self

    async def __aexit__(self, *exception: object) -> None:
        tasks = [*self._tasks, *(followed.task for followed in self._followed.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for followed in self._followed.values():
            self._commit(followed)
        await self._stack.aclose()

    async def findings(self) -> AsyncIterator[Findings]:
        """Yield the findings of each cluster that has any, then those that change, and each anew every few seconds.

        Who reads slowly gets the latest of each cluster, not all in between. Raises what no follower expects.
        """
        names: asyncio.Queue[str] = asyncio.Queue()
        for name in self.latest:
            names.put_nowait(name)
        self._readers.add(names)
        waiting: set[str] = set()
        try:
            while True:
                waiting.add(await names.get())
                while not names.empty():
                    waiting.add(names.get_nowait())
                self._raise_failures()
                for name in sorted(waiting):
                    if name in self.latest:
                        yield self.latest[name]
                waiting.clear()
        finally:
            self._readers.discard(names)

    def _raise_failures(self) -> None:
        for task in (*self._tasks, *(followed.task for followed in self._followed.values())):
            if task.done() and not task.cancelled():
                task.result()

    async def events(self) -> AsyncIterator[WatchEvent]:
        """Yield what happens from now on; with a journal, once it is stored."""
        events: asyncio.Queue[WatchEvent] = asyncio.Queue()
        self._event_readers.add(events)
        try:
            while True:
                yield await events.get()
        finally:
            self._event_readers.discard(events)

    async def follow_file(self, path: Path) -> None:
        """Follow the clusters that the watch file names, whenever it changes; an error in it is said on stderr."""
        read_at = _changed_at(path)
        while True:
            await asyncio.sleep(_REPEAT_S)
            changed_at = _changed_at(path)
            if changed_at == read_at:
                continue
            read_at = changed_at
            try:
                self.replace_clusters({cluster.name: cluster for cluster in read_watch_file(path).clusters})
            except WatchError as error:
                sys.stderr.write(printable(f"{error}: the clusters of before are followed\n"))

    def replace_clusters(self, clusters: Mapping[str, WatchedCluster]) -> None:
        """Begin to follow clusters that are new or reached otherwise, and end to follow those that are gone.

        Raises WatchError, and changes nothing then.
        """
        sources = {name: cluster.source(self._folder) for name, cluster in clusters.items()}
        for name in [name for name in self._followed if name not in clusters]:
            self._end(name)
            self.latest.pop(name, None)
        self._connections |= {name: cluster.connection for name, cluster in clusters.items()}
        self.lifts = lifts_of(clusters.values(), self._folder)
        for name, source in sources.items():
            if name in self._followed and source == self._sources[name]:
                continue
            if name in self._followed:
                self._end(name)
            self._sources[name] = source
            self._start(name)

    def _start(self, name: str) -> None:
        folder = self._tail_folder / str(len(list(self._tail_folder.iterdir())))
        folder.mkdir()
        follower = Follower(
            name,
            self._sources[name],
            connection=self._connections[name],
            pace=self._pace,
            folder=folder,
            changed=self._changed,
            bookmark=self._bookmark,
            begun=self._begun,
        )
        self._followed[name] = _Followed(follower, asyncio.create_task(follower.run()))

    def _end(self, name: str) -> None:
        followed = self._followed.pop(name)
        followed.task.cancel()
        self._commit(followed)

    def _bookmark(self, name: str) -> Bookmark | None:
        return None if self.journal is None else self.journal.bookmark(name)

    def _changed(self, follower: Follower) -> None:
        followed = self._followed.get(follower.name)
        if followed is None or followed.follower is not follower:
            return
        followed.events += follower.state.drain_events()
        is_due = time.monotonic() - followed.committed_s >= _COMMIT_S
        if followed.events or (is_due and follower.state.end_offset != followed.committed_offset):
            self._commit(followed)

    def _begun(self, follower: Follower, before: str, is_rebuilt: bool) -> None:  # noqa: FBT001 - a callback
        state, now_ms = follower.state, _now_ms()
        assert state.cluster_id is not None
        kind = EventKind.CLUSTER_REBUILT if is_rebuilt else EventKind.CLUSTER_CHANGED
        text = f"is another cluster: {before} before, {state.cluster_id} now"
        if is_rebuilt:
            text = f"was built anew: the log of {before} is another one"
        event = WatchEvent(
            key=f"{state.cluster_id}/{kind.value}/{before}/ms{now_ms}",
            kind=kind,
            at_ms=now_ms,
            cluster=follower.name,
            cluster_id=state.cluster_id,
            release=None,
            fields={"before": before},
            text=f"{follower.name}: {text}",
        )
        self._followed[follower.name].events.append(event)

    def _commit(self, followed: _Followed) -> None:
        """Store events and the bookmark; what cannot be stored is tried again, and the reason said once."""
        state, followed.committed_s = followed.follower.state, time.monotonic()
        if state.cluster_id is None:
            return
        if self.journal is None:
            self._hand_on(followed)
            return
        bookmark = Bookmark(cluster_id=state.cluster_id, end_offset=state.end_offset, known=dict(state.known))
        wanted = {} if self._deliverer is None else self._deliverer.wanted
        try:
            self.journal.commit(state.name, bookmark, followed.events, wanted, _now_ms())
        except WatchError as error:
            self._note_journal(str(error))
            return
        self._note_journal(None)
        if followed.events:
            followed.moment_s = 0.0
        self._hand_on(followed)
        followed.committed_offset = state.end_offset

    def _hand_on(self, followed: _Followed) -> None:
        for event in followed.events:
            for reader in self._event_readers:
                reader.put_nowait(event)
        followed.events.clear()

    def _note_journal(self, reason: str | None) -> None:
        if reason != self.journal_reason:
            said = "the journal can be written again" if reason is None else f"{reason}: alarms wait until it can be"
            sys.stderr.write(printable(f"{said}\n"))
        self.journal_reason = reason

    async def _publish(self) -> None:
        """Publish findings: soon after a change, and otherwise now and then."""
        while True:
            await asyncio.sleep(_INTERVAL_S)
            for name, followed in list(self._followed.items()):
                now_s = time.monotonic()
                state, now_ms = followed.follower.state, _now_ms()
                revision = (self.journal_reason, *state.revision(now_ms))
                is_due = revision != followed.revision or now_s - followed.published_s >= _REPEAT_S
                if not is_due or now_s < followed.not_before_s:
                    continue
                followed.revision = revision
                findings = self._with_journal(state.findings(now_ms))
                self.latest[name] = findings
                followed.published_s = time.monotonic()
                followed.not_before_s = followed.published_s + (followed.published_s - now_s) / _SHARE_MAX
                for reader in self._readers:
                    reader.put_nowait(name)
                self._keep_moment(followed, findings)
            self._count_waiting()

    def _count_waiting(self) -> None:
        if self.journal is not None:
            with suppress(WatchError):
                self.waiting_count = self.journal.waiting_count()

    def _with_journal(self, findings: Findings) -> Findings:
        if self.journal is None:
            return findings
        reason = self.journal_reason
        source = Source(name="journal", is_fresh=reason is None, as_of_ms=None, reason=reason)
        return msgspec.structs.replace(findings, sources=(*findings.sources, source))

    def _keep_moment(self, followed: _Followed, findings: Findings) -> None:
        if self.journal is None or findings.cluster_id is None or not findings.is_fresh:
            return
        if followed.moment_s and followed.published_s - followed.moment_s < _MOMENT_S:
            return
        with suppress(WatchError):
            self.journal.add_moment(findings)
            followed.moment_s = followed.published_s

    async def _deliver(self, deliverer: Deliverer) -> None:
        while True:
            try:
                await deliverer.run()
            except WatchError as error:
                self._note_journal(str(error))
                await asyncio.sleep(_COMMIT_S)


def _changed_at(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
