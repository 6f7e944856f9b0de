"""A ZooKeeper made of values: what it promises of versions, sessions, watches and transactions."""

import pytest
from ensemble_client import EnsembleClient

from falkirk.simulation.zookeeper.world.ensemble import BY_HAND, Ensemble
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


class Watched:
    """A session, and what its watches have told."""

    def __init__(self, ensemble: Ensemble, timeout_ms: int = 1000) -> None:
        self.ensemble = ensemble
        self.told: list[str] = []
        self.id = ensemble.open_session(timeout_ms, 0, self.told.append)

    def ask(self, operation):
        return self.ensemble.ask(self.id, operation)


@pytest.fixture
def ensemble():
    return Ensemble()


@pytest.fixture
def session(ensemble):
    return Watched(ensemble)


def test_a_znode_is_written_only_in_the_version_that_it_has(session):
    assert session.ask(Create("/a", b"0")) == Done(0)
    assert session.ask(SetData("/a", b"1", 0)) == Done(1)
    assert session.ask(SetData("/a", b"2", 0)) == Failed(KeeperError.BAD_VERSION)
    assert session.ask(SetData("/a", b"2", -1)) == Done(2)
    read = session.ask(GetData("/a"))
    assert read == Znode(b"2", 2, read.czxid)
    assert session.ask(Delete("/a", 1)) == Failed(KeeperError.BAD_VERSION)
    assert session.ask(Delete("/a", 2)) == Done()


def test_a_znode_made_anew_begins_again_with_version_0_and_a_later_czxid(session):
    session.ask(Create("/a", b""))
    session.ask(SetData("/a", b"", 0))
    first = session.ask(GetData("/a"))
    session.ask(Delete("/a"))
    session.ask(Create("/a", b""))
    second = session.ask(GetData("/a"))
    assert (first.version, second.version) == (1, 0)
    assert second.czxid > first.czxid


def test_the_parent_has_to_be_there_and_children_keep_it_there(session):
    assert session.ask(Create("/a/b", b"")) == Failed(KeeperError.NO_NODE)
    session.ask(Create("/a", b""))
    session.ask(Create("/a/c", b""))
    session.ask(Create("/a/b", b""))
    assert session.ask(GetChildren("/a")) == Children(("b", "c"))
    assert session.ask(Delete("/a")) == Failed(KeeperError.OTHER, detail="NotEmpty")


def test_a_transaction_is_done_as_a_whole_or_not_at_all(session):
    session.ask(Create("/epoch", b"1"))
    done = session.ask(Multi((CheckVersion("/epoch", 0), Create("/a", b""), Create("/a/b", b""), Delete("/a/b"))))
    assert done == Done()
    refused = session.ask(Multi((Delete("/a"), CheckVersion("/epoch", 1), Create("/c", b""))))
    assert refused == Failed(KeeperError.BAD_VERSION, part=1)
    assert isinstance(session.ask(GetData("/a")), Znode)
    assert session.ask(GetData("/c")) == Failed(KeeperError.NO_NODE)


def test_ephemeral_znodes_go_with_their_session(ensemble, session):
    other = Watched(ensemble)
    session.ask(Create("/a", b"", ephemeral=True))
    assert other.ask(GetData("/a", watch=True)).ephemeral_owner == session.id
    ensemble.end_session(session.id)
    assert other.told == ["/a"]
    assert other.ask(GetData("/a")) == Failed(KeeperError.NO_NODE)
    assert session.ask(GetData("/a")) == Failed(KeeperError.SESSION_EXPIRED)


def test_sessions_expire_when_nothing_is_heard_of_them_for_their_timeout(ensemble):
    silent, heard = Watched(ensemble, 1000), Watched(ensemble, 1000)
    ensemble.hear_from(heard.id, 500)
    assert ensemble.expire_silent(999) == ()
    assert ensemble.expire_silent(1000) == (silent.id,)
    assert not ensemble.hear_from(silent.id, 1001)
    assert ensemble.is_open(heard.id)


def test_a_watch_tells_of_one_change_and_never_again(session):
    session.ask(Create("/a", b""))
    session.ask(GetData("/a", watch=True))
    session.ask(SetData("/a", b"1", -1))
    session.ask(SetData("/a", b"2", -1))
    assert session.told == ["/a"]


def test_a_watch_on_a_znode_that_is_not_there_tells_when_it_is_made(session):
    session.ask(GetData("/a", watch=True))
    session.ask(Create("/a", b""))
    assert session.told == ["/a"]


def test_a_watch_on_children_tells_of_names_and_not_of_data(session):
    session.ask(Create("/a", b""))
    session.ask(Create("/a/b", b""))
    session.ask(GetChildren("/a", watch=True))
    session.ask(SetData("/a/b", b"1", -1))
    session.ask(SetData("/a", b"1", -1))
    assert session.told == []
    session.ask(Delete("/a/b"))
    assert session.told == ["/a"]


def test_who_looks_on_sees_whole_transactions_and_the_session_that_made_them(ensemble, session):
    seen = []
    ensemble.observers.append(seen.append)
    session.ask(Multi((Create("/a", b"", ephemeral=True), Create("/b", b""))))
    session.ask(SetData("/c", b"", -1))
    ensemble.end_session(session.id)
    assert [(t.session_id, [c.path for c in t.changes]) for t in seen] == [
        (session.id, ["/a", "/b"]),
        (session.id, ["/a"]),
    ]


def test_a_client_turns_effects_into_events_in_order(ensemble):
    events = []
    client = EnsembleClient(ensemble, events.append)
    client.execute(OpenSession(), 0)
    client.execute(AskZooKeeper(1, GetData("/a", watch=True)), 0)
    client.execute(AskZooKeeper(2, Create("/a", b"", ephemeral=True)), 0)
    first = client.session_id
    assert events == [
        SessionChanged(SessionState.CONNECTED, first),
        ZooKeeperAnswered(1, Failed(KeeperError.NO_NODE)),
        ZnodeChanged("/a"),
        ZooKeeperAnswered(2, Done()),
    ]
    events.clear()
    client.expire()
    client.execute(OpenSession(), 0)
    assert events == [SessionChanged(SessionState.EXPIRED), SessionChanged(SessionState.CONNECTED, client.session_id)]
    assert client.session_id != first
    assert ensemble.ask(BY_HAND, GetData("/a")) == Failed(KeeperError.NO_NODE)
    client.execute(CloseSession(), 0)
    assert client.session_id == 0
