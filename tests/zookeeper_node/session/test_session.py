"""One session at a time: answers find who asked, and an expired session answers everybody."""

from __future__ import annotations

from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
    ZooKeeperEffect,
)
from falkirk.zookeeper_node.session.operations import Answer, Done, Failed, GetData, KeeperError
from falkirk.zookeeper_node.session.session import Session

EXPIRED = Failed(KeeperError.SESSION_EXPIRED)


def connected() -> tuple[Session, list[ZooKeeperEffect]]:
    effects: list[ZooKeeperEffect] = []
    session = Session(effects.append)
    session.open()
    session.receive(SessionChanged(SessionState.CONNECTED, 7))
    return session, effects


def test_answers_reach_who_asked() -> None:
    session, effects = connected()
    first: list[Answer] = []
    second: list[Answer] = []
    session.send(GetData("/a"), first.append)
    session.send(GetData("/b"), second.append)
    assert effects == [OpenSession(), AskZooKeeper(1, GetData("/a")), AskZooKeeper(2, GetData("/b"))]
    session.receive(ZooKeeperAnswered(2, Done(2)))
    session.receive(ZooKeeperAnswered(1, Done(1)))
    assert (first, second) == ([Done(1)], [Done(2)])


def test_expiry_answers_all_who_wait_before_it_is_told() -> None:
    session, _ = connected()
    told: list[object] = []
    session.send(GetData("/a"), told.append)
    session.on_state(told.append)
    session.receive(SessionChanged(SessionState.EXPIRED))
    assert told == [EXPIRED, SessionState.EXPIRED]
    assert session.session_id == 0


def test_an_answer_of_an_expired_session_finds_nobody() -> None:
    session, effects = connected()
    told: list[Answer] = []
    session.send(GetData("/a"), told.append)
    session.receive(SessionChanged(SessionState.EXPIRED))
    session.open()
    session.receive(SessionChanged(SessionState.CONNECTED, 8))
    session.send(GetData("/a"), told.append)
    session.receive(ZooKeeperAnswered(1, Done(1)))
    assert told == [EXPIRED]
    assert effects[-1] == AskZooKeeper(2, GetData("/a"))


def test_whoever_asks_without_a_session_is_told_so_at_once() -> None:
    effects: list[ZooKeeperEffect] = []
    told: list[Answer] = []
    Session(effects.append).send(GetData("/a"), told.append)
    assert told == [EXPIRED]
    assert effects == []


def test_a_suspended_session_is_asked_on() -> None:
    session, effects = connected()
    session.receive(SessionChanged(SessionState.SUSPENDED, 7))
    session.send(GetData("/a"), lambda _: None)
    assert effects[-1] == AskZooKeeper(1, GetData("/a"))
    assert not session.is_connected


def test_watchers_of_a_path_are_told_until_they_want_no_more() -> None:
    session, _ = connected()
    told: list[str] = []

    def on_change() -> None:
        told.append("first")
        session.unwatch("/a", on_change)

    session.watch("/a", on_change)
    session.watch("/a", lambda: told.append("second"))
    session.receive(ZnodeChanged("/b"))
    session.receive(ZnodeChanged("/a"))
    session.receive(ZnodeChanged("/a"))
    assert told == ["first", "second", "second"]


def test_after_the_end_nobody_is_told_anything() -> None:
    session, effects = connected()
    told: list[object] = []
    session.send(GetData("/a"), told.append)
    session.watch("/a", lambda: told.append("changed"))
    session.on_state(told.append)
    session.close()
    session.receive(ZnodeChanged("/a"))
    session.receive(SessionChanged(SessionState.EXPIRED))
    assert told == []
    assert effects[-1] == CloseSession()
