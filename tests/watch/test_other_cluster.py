"""At the same addresses there is another cluster, or the same one with another log: nothing of before counts then."""

import asyncio
import shutil
import socket
from contextlib import ExitStack, contextmanager

import pytest
from running_cluster import up
from tests.watch.test_live import TIMEOUT_S, add_range, state, watch_file

from falkirk.watch.core.findings import EventKind, WayState
from falkirk.watch.journal import Journal
from falkirk.watch.watch import Watch

pytestmark = pytest.mark.slow
OPTIONS = (
    *("--nodes", "1", "--single-process", "--release", "4.4"),
    *("--override", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    *("--override", "super.users=User:ANONYMOUS"),
)


@contextmanager
def free_port():
    """Yield a port whose successor is free, too: the controller's."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
        yield port
        return


class Place:
    """Two ports at which clusters run one after the other."""

    def __init__(self, port):
        self._options = (*OPTIONS, "--port", str(port))
        self._stack = ExitStack()
        self.cluster = None

    def start(self, data):
        self.cluster = self._stack.enter_context(up(*self._options, "--data", data))

    def stop(self):
        self._stack.close()


async def event_of(events, kind):
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            event = await events.get()
            if event.kind is kind:
                return event


def test_what_was_restored_and_what_is_another_cluster_begin_with_nothing_known(tmp_path):
    data, backup = tmp_path / "data", tmp_path / "backup"
    events = asyncio.Queue()

    async def note(watch):
        async for event in watch.events():
            events.put_nowait(event)

    async def play(place):
        async with Watch(watch_file(place.cluster, journal=str(tmp_path / "j")), tmp_path) as watch:
            noting = asyncio.create_task(note(watch))
            await state(watch, WayState.OPEN)
            await asyncio.to_thread(add_range, place.cluster, "closing")
            first = await state(watch, WayState.CLOSED)
            await asyncio.to_thread(place.stop)
            shutil.rmtree(data)
            shutil.copytree(backup, data)
            await asyncio.to_thread(place.start, data)
            rebuilt = await event_of(events, EventKind.CLUSTER_REBUILT)
            restored = await state(watch, WayState.OPEN)
            await asyncio.to_thread(place.stop)
            await asyncio.to_thread(place.start, tmp_path / "other")
            changed = await event_of(events, EventKind.CLUSTER_CHANGED)
            # What was published last is of before for a moment.
            async with asyncio.timeout(TIMEOUT_S):
                async for second in watch.findings():
                    if second.cluster_id == changed.cluster_id and second.is_fresh:
                        break
            noting.cancel()
        return first, rebuilt, restored, changed, second

    with free_port() as port:
        place = Place(port)
    try:
        place.start(data)
        place.stop()
        shutil.copytree(data, backup)
        place.start(data)
        first, rebuilt, restored, changed, second = asyncio.run(play(place))
    finally:
        place.stop()
    assert restored.cluster_id == first.cluster_id == rebuilt.cluster_id
    assert "was built anew" in rebuilt.text
    assert second.cluster_id == changed.cluster_id != first.cluster_id
    assert changed.fields == {"before": first.cluster_id}
    assert {way.state for way in second.ways} == {WayState.OPEN}
    with Journal(tmp_path / "j") as journal:
        kinds = [event.kind for _, event in journal.events() if event.release in {None, "3.9"}]
        assert kinds == [EventKind.WAY_CLOSED, EventKind.CLUSTER_REBUILT, EventKind.CLUSTER_CHANGED]
        assert journal.bookmark("ours").cluster_id == second.cluster_id
