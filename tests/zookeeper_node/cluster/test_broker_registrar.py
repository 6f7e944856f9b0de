"""A broker's znode is made once in each session, whatever stands there or is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from zookeeper_world import HeldSession, write_by_hand

from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.cluster.broker_registrar import BrokerRegistrar
from falkirk.zookeeper_node.session.exchange import SessionChanged, SessionState
from falkirk.zookeeper_node.session.operations import Create, KeeperError
from falkirk.zookeeper_node.session.retries import Retries

if TYPE_CHECKING:
    from falkirk.node.effects import Fact

PATH = "/brokers/ids/4"


class World:
    """A registration with the data `b"me"`, which waits 100 ms for another one to go."""

    def __init__(self, ensemble: Ensemble | None = None) -> None:
        self.now_ms = 1000
        self.registered = 0
        self.failures: list[str] = []
        self.facts: list[Fact] = []
        self.held = HeldSession(ensemble or Ensemble())
        self.registration = BrokerRegistrar(
            self.held.session,
            Retries(self.held.session),
            broker_id=4,
            wait_ms=100,
            now_ms=lambda: self.now_ms,
            registered=self._register,
            failed=self.failures.append,
            effects=self.facts.append,
        )
        self.held.connect()
        self.prepared = 0
        self.registration.prepare(self._prepare)
        self.held.do_all()
        self.registration.begin(b"me")

    @property
    def owner(self) -> int:
        znode = self.held.ensemble.znode(PATH)
        return 0 if znode is None else znode.ephemeral_owner

    def _prepare(self) -> None:
        self.prepared += 1

    def _register(self) -> None:
        self.registered += 1


def registered() -> World:
    world = World()
    world.held.do_all()
    return world


def test_the_znode_is_made_with_its_parents_and_goes_with_the_session() -> None:
    world = registered()
    assert (world.prepared, world.registered, world.registration.is_registered) == (1, 1, True)
    znode = world.held.ensemble.znode(PATH)
    assert znode is not None
    assert (znode.data, znode.ephemeral_owner) == (b"me", world.held.session_id)


def test_the_loss_of_the_answer_is_no_harm() -> None:
    world = World()
    assert isinstance(world.held.next, Create)
    assert world.held.next.path == PATH
    world.held.lose_connection(carried_out=1)
    world.held.reconnect()
    world.held.do_all()
    assert (world.registered, world.owner) == (1, world.held.session_id)
    assert world.facts == []


def test_another_registration_is_waited_for() -> None:
    other = registered()
    world = World(other.held.ensemble)
    world.held.do_all()
    assert world.registered == 0
    assert world.registration.next_wakeup_ms == 1100
    assert [fact.event for fact in world.facts] == ["waits-for-earlier-registration"]
    other.held.expire()
    world.held.do_all()
    assert (world.registered, world.owner) == (1, world.held.session_id)
    assert world.registration.next_wakeup_ms is None


def test_another_registration_that_is_replaced_is_not_waited_for_longer() -> None:
    other = registered()
    world = World(other.held.ensemble)
    world.held.do_all()
    world.now_ms = 1050
    other.held.expire()
    other.held.connect()
    other.registration.begin(b"again")
    other.held.do_all()
    world.held.do_all()
    assert world.registration.next_wakeup_ms == 1100


def test_another_registration_that_stays_is_a_failure_that_names_it() -> None:
    other = registered()
    world = World(other.held.ensemble)
    world.held.do_all()
    world.registration.tick(1099)
    assert world.failures == []
    world.registration.tick(1100)
    world.held.do_all()
    assert world.failures == [
        (
            f"znode {PATH}: broker 4 is registered by another session (0x1), which has not gone within 100 ms: there "
            "may be two brokers with one broker.id"
        )
    ]
    assert world.registration.next_wakeup_ms is None


def test_one_that_goes_at_the_last_moment_is_no_failure() -> None:
    other = registered()
    world = World(other.held.ensemble)
    world.held.do_all()
    world.held.has_watches = False
    other.held.expire()
    world.registration.tick(1100)
    world.held.do_all()
    assert (world.failures, world.registered) == ([], 1)


def test_one_that_was_read_to_be_gone_is_waited_for_no_longer() -> None:
    """The broker has registered, the answer is lost, and the server that it reaches then accepts no writes."""
    other = registered()
    world = World(other.held.ensemble)
    world.held.do_all()
    other.held.expire()
    world.held.do_until(Create)
    assert world.registration.next_wakeup_ms is None
    world.held.lose_connection(carried_out=1)
    world.held.reconnect(SessionState.READ_ONLY)
    world.registration.tick(1100)
    assert (world.failures, world.registered) == ([], 0)
    world.held.reconnect()
    world.held.do_all()
    assert (world.failures, world.registered) == ([], 1)


@pytest.mark.parametrize("state", [SessionState.SUSPENDED, SessionState.READ_ONLY])
def test_the_wait_stands_still_without_a_server_that_accepts_writes_and_then_begins_again(state: SessionState) -> None:
    other = registered()
    world = World(other.held.ensemble)
    world.held.do_all()
    world.held.lose_connection()
    world.held.session.receive(SessionChanged(state, world.held.session_id))
    world.held.do_all()
    world.registration.tick(1100)
    assert (world.failures, world.registration.next_wakeup_ms) == ([], None)
    world.now_ms = 2000
    world.held.reconnect()
    world.held.do_all()
    assert world.registration.next_wakeup_ms == 2100
    world.registration.tick(2100)
    world.held.do_all()
    assert len(world.failures) == 1


def test_a_read_only_server_begins_no_wait() -> None:
    other = registered()
    world = World(other.held.ensemble)
    world.held.do()
    world.held.lose_connection()
    world.held.reconnect(SessionState.READ_ONLY)
    world.held.do_all()
    assert world.registration.next_wakeup_ms is None
    world.held.reconnect()
    world.held.do_all()
    assert world.registration.next_wakeup_ms == 1100


def test_a_connection_that_is_lost_over_the_last_try_begins_the_wait_again() -> None:
    other = registered()
    world = World(other.held.ensemble)
    world.held.do_all()
    world.registration.tick(1100)
    world.held.lose_connection()
    world.now_ms = 2000
    world.held.reconnect()
    world.held.do_all()
    assert (world.failures, world.registration.next_wakeup_ms) == ([], 2100)


def test_one_that_goes_while_there_is_no_connection_is_noticed() -> None:
    other = registered()
    world = World(other.held.ensemble)
    world.held.do_all()
    world.held.has_watches = False
    world.held.lose_connection()
    other.held.expire()
    world.held.reconnect()
    world.held.do_all()
    assert (world.failures, world.registered) == ([], 1)


def test_a_znode_that_somebody_has_made_to_stay_is_one_too() -> None:
    world = World()
    world.held.do_all()
    world.held.expire()
    write_by_hand(world.held.ensemble, PATH, b"")
    world.held.connect()
    world.registration.begin(b"me")
    world.held.do_all()
    world.registration.tick(1100)
    world.held.do_all()
    assert len(world.failures) == 1
    assert "(0x0)" in world.failures[0]


def test_one_that_goes_between_is_no_reason_to_wait() -> None:
    other = registered()
    world = World(other.held.ensemble)
    world.held.do()
    other.held.expire()
    world.held.do_all()
    assert world.registered == 1
    assert world.facts == []


def test_each_session_has_a_registration_of_its_own() -> None:
    world = registered()
    first = world.owner
    world.held.expire()
    world.registration.forget()
    assert (world.registration.is_registered, world.owner) == (False, 0)
    world.held.connect()
    world.registration.begin(b"me again")
    world.held.do_all()
    assert (world.registered, world.owner) == (2, world.held.session_id)
    assert world.owner != first


def test_a_session_that_expires_between_ends_nothing() -> None:
    world = World()
    world.held.expire()
    world.registration.forget()
    world.held.connect()
    world.registration.prepare(world._prepare)
    world.held.expire()
    world.held.connect()
    world.registration.begin(b"me")
    world.held.do_all()
    assert (world.prepared, world.registered, world.failures) == (1, 1, [])


def test_who_may_not_register_is_told_why() -> None:
    world = World()
    world.held.refuse(KeeperError.NO_AUTH)
    assert world.failures == [f"znode {PATH}: it cannot be made: NoAuth"]
