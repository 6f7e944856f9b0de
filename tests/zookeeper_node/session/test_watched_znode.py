"""A znode is read with a watch, and again when that has told."""

from __future__ import annotations

from zookeeper_world import HeldSession, delete_by_hand, write_by_hand

from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.session.exchange import ZnodeChanged
from falkirk.zookeeper_node.session.operations import Children, Failed, GetChildren, GetData, KeeperError, Znode
from falkirk.zookeeper_node.session.retries import Retries
from falkirk.zookeeper_node.session.watched_znode import WatchedZnode


class World:
    """One watched znode, `/a` or the names below it."""

    def __init__(self, operation: GetData | GetChildren) -> None:
        self.taken: list[object] = []
        self.failed: list[tuple[str, KeeperError]] = []
        self.held = HeldSession(Ensemble())
        asks = Retries(self.held.session)
        self.watched = WatchedZnode(self.held.session, asks, operation, on_read=self._take, failed=self._fail)
        self.held.connect()

    def _take(self, read: Znode | Children | None) -> None:
        self.taken.append(read.data if isinstance(read, Znode) else read)

    def _fail(self, path: str, failed: Failed) -> None:
        self.failed.append((path, failed.refusal))


def watching() -> World:
    world = World(GetData("/a", watch=True))
    world.watched.read()
    world.held.do_all()
    return world


def test_coming_changes_and_going_are_read() -> None:
    world = watching()
    write_by_hand(world.held.ensemble, "/a", b"1")
    world.held.do_all()
    write_by_hand(world.held.ensemble, "/a", b"2")
    world.held.do_all()
    delete_by_hand(world.held.ensemble, "/a")
    world.held.do_all()
    write_by_hand(world.held.ensemble, "/a", b"3")
    world.held.do_all()
    assert world.taken == [None, b"1", b"2", None, b"3"]


def test_names_are_read() -> None:
    world = World(GetChildren("/a", watch=True))
    write_by_hand(world.held.ensemble, "/a", b"")
    world.watched.read()
    world.held.do_all()
    write_by_hand(world.held.ensemble, "/a/b", b"")
    world.held.do_all()
    assert world.taken == [Children(()), Children(("b",))]


def test_a_change_that_is_told_while_it_is_read_is_read_once_more() -> None:
    world = watching()
    world.watched.read()
    world.held.session.receive(ZnodeChanged("/a"))
    world.held.session.receive(ZnodeChanged("/a"))
    assert len(world.held.asked) == 1
    world.held.do_all()
    assert world.taken == [None, None, None]


def test_an_expired_session_is_not_told_and_can_be_read_in_the_next() -> None:
    world = watching()
    world.watched.read()
    world.held.expire()
    assert (world.taken, world.failed) == ([None], [])
    world.held.connect()
    world.watched.read()
    world.held.do_all()
    assert world.taken == [None, None]


def test_what_cannot_be_read_is_told() -> None:
    world = watching()
    world.watched.read()
    world.held.refuse(KeeperError.NO_AUTH)
    assert world.failed == [("/a", KeeperError.NO_AUTH)]


def test_when_it_is_over_nothing_is_read_or_told() -> None:
    world = watching()
    world.watched.read()
    world.watched.stop()
    world.held.do_all()
    write_by_hand(world.held.ensemble, "/a", b"1")
    world.watched.read()
    assert list(world.held.asked) == []
    assert world.taken == [None]
