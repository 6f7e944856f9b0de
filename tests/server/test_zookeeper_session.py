"""Sessions with a real ZooKeeper: answers in order, watches, what is unknown, the end of a session and of a server."""

import asyncio
import io
import logging
import threading
from contextlib import asynccontextmanager

import pytest
from zookeeper_server import end_session, read_only_server, running_server

from falkirk.server import process as event_loop
from falkirk.server.fact_log import FactLog, LogFormat, LogLevel
from falkirk.server.zookeeper_session import ZooKeeperSession, _often
from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
)
from falkirk.zookeeper_node.session.operations import (
    CheckVersion,
    Children,
    Create,
    Delete,
    Done,
    Failed,
    GetChildren,
    GetData,
    KeeperError,
    Multi,
    SetData,
    Znode,
)

pytestmark = pytest.mark.zookeeper


class Asker:
    """A node's place: asks, and keeps what it is told."""

    def __init__(self, connect: str, *, session_timeout_ms: int = 6_000) -> None:
        self.events: list[object] = []
        self.log = io.StringIO()
        self._told = asyncio.Event()
        self._asked = 0
        self.session = ZooKeeperSession(
            connect,
            session_timeout_ms=session_timeout_ms,
            in_flight_max=10,
            tell=self._take,
            log=FactLog(self.log, LogFormat.TEXT, LogLevel.INFO),
        )

    def _take(self, event: object) -> None:
        self.events.append(event)
        self._told.set()

    def begin(self, operation: object) -> int:
        self._asked += 1
        self.session.execute(AskZooKeeper(self._asked, operation))
        return self._asked

    async def until(self, *wanted: object) -> None:
        async with asyncio.timeout(30):
            while any(event not in self.events for event in wanted):
                self._told.clear()
                await self._told.wait()

    async def until_state(self, state: SessionState, times: int = 1) -> int:
        async with asyncio.timeout(30):
            while len(found := [one for one in self.states if one.state is state]) < times:
                self._told.clear()
                await self._told.wait()
        return found[-1].session_id

    async def ask(self, *operations: object) -> list[object]:
        """Ask all at once; return the answers in the order in which they came."""
        numbers = {self.begin(operation) for operation in operations}
        async with asyncio.timeout(30):
            while len(answers := [one for one in self.answers if one.request_id in numbers]) < len(numbers):
                self._told.clear()
                await self._told.wait()
        assert [one.request_id for one in answers] == sorted(numbers)
        return [one.answer for one in answers]

    @property
    def answers(self) -> list[ZooKeeperAnswered]:
        return [event for event in self.events if isinstance(event, ZooKeeperAnswered)]

    @property
    def states(self) -> list[SessionChanged]:
        return [event for event in self.events if isinstance(event, SessionChanged)]


@asynccontextmanager
async def opened(connect: str, **options: int):
    asker = Asker(connect, **options)
    asker.session.execute(OpenSession())
    try:
        yield asker
    finally:
        await asker.session.close()


def run(story) -> None:
    """Run it; no thread is left behind."""
    before = set(threading.enumerate())
    event_loop.run(story())
    assert set(threading.enumerate()) <= before


def test_operations_are_answered_as_values_in_the_order_in_which_they_were_asked_for(chroot):
    async def story():
        async with opened(chroot) as asker:
            session_id = await asker.until_state(SessionState.CONNECTED)
            answers = await asker.ask(
                Create("/a", b"one"),
                GetData("/a"),
                SetData("/a", b"two", 0),
                SetData("/a", b"three", 0),
                GetData("/none"),
                Create("/a", b""),
                Create("/e", b"", ephemeral=True),
                GetData("/e"),
                GetChildren("/"),
                Delete("/a", 5),
                Delete("/a"),
                GetChildren("/a"),
                Create("/no/parent", b""),
                Delete("/"),
            )
            created, ephemeral = answers[1], answers[7]
            assert isinstance(created, Znode)
            assert isinstance(ephemeral, Znode)
            assert created == Znode(b"one", 0, created.czxid)
            assert ephemeral == Znode(b"", 0, ephemeral.czxid, session_id)
            assert ephemeral.czxid > created.czxid
            del answers[7], answers[1]
            assert answers == [
                Done(0),
                Done(1),
                Failed(KeeperError.BAD_VERSION),
                Failed(KeeperError.NO_NODE),
                Failed(KeeperError.NODE_EXISTS),
                Done(0),
                Children(("a", "e")),
                Failed(KeeperError.BAD_VERSION),
                Done(0),
                Failed(KeeperError.NO_NODE),
                Failed(KeeperError.NO_NODE),
                Failed(KeeperError.OTHER, detail="NotEmpty"),
            ]

    run(story)


def test_of_a_multi_the_first_part_that_could_not_be_is_told_and_nothing_is_done(chroot):
    async def story():
        async with opened(chroot) as asker:
            await asker.until_state(SessionState.CONNECTED)
            assert await asker.ask(
                Create("/epoch", b"1"),
                Multi((CheckVersion("/epoch", 0), Create("/a", b""), SetData("/epoch", b"2", 0))),
                Multi((Create("/b", b""), CheckVersion("/epoch", 0), Delete("/a"))),
                Multi((SetData("/epoch", b"3", 1), Create("/a", b""))),
                Multi((SetData("/epoch", b"3", 1), CheckVersion("/epoch", 2))),
                GetChildren("/"),
            ) == [
                Done(0),
                Done(1),
                Failed(KeeperError.BAD_VERSION, 1),
                Failed(KeeperError.NODE_EXISTS, 1),
                Done(0),
                Children(("a", "epoch")),
            ]

    run(story)


def test_more_than_may_be_on_the_way_is_answered_in_order_all_the_same(chroot):
    async def story():
        async with opened(chroot) as asker:
            await asker.until_state(SessionState.CONNECTED)
            answers = await asker.ask(*(Create(f"/{number}", b"") for number in range(200)), GetChildren("/"))
            assert len(answers[-1].names) == 200

    run(story)


def test_a_watch_tells_once_and_waits_for_a_znode_that_is_not_there(chroot):
    async def story():
        async with opened(chroot) as asker, opened(chroot) as other:
            await asker.until_state(SessionState.CONNECTED)
            await other.until_state(SessionState.CONNECTED)
            assert await asker.ask(GetData("/features", watch=True), GetChildren("/", watch=True)) == [
                Failed(KeeperError.NO_NODE),
                Children(()),
            ]
            await other.ask(Create("/features", b""))
            await asker.until(ZnodeChanged("/features"), ZnodeChanged("/"))
            await asker.ask(GetData("/features"))
            await other.ask(SetData("/features", b"x", 0), Create("/b", b""))
            # An answer comes after all changes that happened before it.
            await asker.ask(SetData("/features", b"y", 1))
            assert asker.events.count(ZnodeChanged("/features")) == 1
            assert asker.events.count(ZnodeChanged("/")) == 1

    run(story)


def test_what_was_on_its_way_when_the_server_died_is_unknown_and_what_waits_is_done_later(tmp_path):
    async def story():
        with running_server(tmp_path) as server:
            async with opened(f"{server.address}/kafka/below", session_timeout_ms=20_000) as asker:
                session_id = await asker.until_state(SessionState.CONNECTED)
                assert await asker.ask(GetData("/kept", watch=True)) == [Failed(KeeperError.NO_NODE)]
                await asker.ask(Create("/owned", b"", ephemeral=True))
                server.pause()
                for number in range(12):
                    asker.begin(Create(f"/{number}", b""))
                server.kill()
                await asker.until_state(SessionState.SUSPENDED)
                # Ten may be on their way.
                unknown = asker.answers[2:]
                assert [one.answer for one in unknown] == [Failed(KeeperError.CONNECTION_LOSS)] * 10
                assert asker.events[-1] == SessionChanged(SessionState.SUSPENDED, session_id)
                server.start()
                assert await asker.until_state(SessionState.CONNECTED, 2) == session_id
                await asker.until(ZnodeChanged("/kept"))
                ((names,),) = [[one.names] for one in await asker.ask(GetChildren("/"))]
                assert set(names) >= {"10", "11", "owned"}

    run(story)


def test_a_session_that_another_client_ends_expires_and_the_next_one_is_new(chroot):
    async def story():
        async with opened(chroot) as asker:
            first = await asker.until_state(SessionState.CONNECTED)
            await asker.ask(Create("/mine", b"", ephemeral=True))
            client = asker.session._current._client
            await asyncio.to_thread(end_session, chroot, *client.client_id)
            await asker.until_state(SessionState.EXPIRED)
            number = asker.begin(GetChildren("/"))
            await asker.until(ZooKeeperAnswered(number, Failed(KeeperError.SESSION_EXPIRED)))
            asker.events.clear()
            asker.session.execute(OpenSession())
            assert await asker.until_state(SessionState.CONNECTED) != first
            assert await asker.ask(GetChildren("/")) == [Children(())]

    run(story)


def test_closing_ends_ephemeral_znodes_at_once(chroot):
    async def story():
        async with opened(chroot) as watcher:
            await watcher.until_state(SessionState.CONNECTED)
            async with opened(chroot, session_timeout_ms=60_000) as asker:
                await asker.until_state(SessionState.CONNECTED)
                await asker.ask(Create("/mine", b"", ephemeral=True))
                await watcher.ask(GetData("/mine", watch=True))
                asker.session.execute(CloseSession())
                await watcher.until(ZnodeChanged("/mine"))
                assert asker.states[-1].state is SessionState.CONNECTED

    run(story)


def test_a_server_that_hangs_does_not_keep_a_node_from_ending(zookeeper, chroot):
    async def story():
        asker = Asker(chroot, session_timeout_ms=1_000)
        asker.session.execute(OpenSession())
        await asker.until_state(SessionState.CONNECTED)
        zookeeper.pause()
        try:
            asker.begin(GetChildren("/"))
            await asker.until_state(SessionState.SUSPENDED)
            await asker.session.close()
        finally:
            zookeeper.resume()

    before = set(threading.enumerate())
    event_loop.run(story())
    for thread in set(threading.enumerate()) - before:
        thread.join(30)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("hosts", "session_timeout_ms", "tries"), [("a:1", 18_000, 4), ("a:1,b:1,c:1", 18_000, 6), ("a:1", 1_000, 1)]
)
def test_a_connection_is_tried_several_times_before_a_session_can_be_over(hosts, session_timeout_ms, tries):
    assert len(_often(hosts, session_timeout_ms).split(",")) == tries


def test_why_there_is_no_connection_is_told_once_however_often_it_is_tried(caplog):
    async def story():
        tries = asyncio.Semaphore(0)

        async def hang_up(reader, writer):
            # All of it: a connection that is closed with something unread is reset.
            await reader.read(1_000)
            writer.close()
            tries.release()

        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with opened(f"127.0.0.1:{port}") as asker, asyncio.timeout(30):
                for _ in range(3):
                    await tries.acquire()
                lines = asker.log.getvalue().splitlines()
        assert len(lines) == 1
        assert "WARNING ZooKeeper: Connection dropped: socket connection broken" in lines[0]
        assert asker.events == []

    with caplog.at_level(logging.WARNING):
        run(story)
    assert caplog.records == []


def test_a_server_without_the_others_takes_no_writes(tmp_path):
    async def story():
        with read_only_server(tmp_path) as server:
            async with opened(server.address) as asker:
                await asker.until_state(SessionState.READ_ONLY)
                assert await asker.ask(Create("/a", b""), GetData("/none")) == [
                    Failed(KeeperError.READ_ONLY),
                    Failed(KeeperError.NO_NODE),
                ]

    run(story)
