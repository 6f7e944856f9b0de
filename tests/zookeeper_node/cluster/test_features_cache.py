"""What is finalized is known as it was read last, and who waits for an epoch is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from zookeeper_features import finalized
from zookeeper_world import HeldSession, delete_by_hand, write_by_hand

from falkirk.metadata.zookeeper.features_znode import encode_features
from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.cluster.features_cache import FeaturesCache
from falkirk.zookeeper_node.session.operations import KeeperError, Znode
from falkirk.zookeeper_node.session.retries import Retries

if TYPE_CHECKING:
    from falkirk.node.effects import Fact

PATH = "/features"
ONE, TWO = finalized(a=(1, 1)), finalized(a=(1, 2))


class World:
    """A cache, and how often it has told of a change."""

    def __init__(self) -> None:
        self.changes = 0
        self.failed: list[str] = []
        self.facts: list[Fact] = []
        self.held = HeldSession(Ensemble())
        self.cache = FeaturesCache(
            self.held.session,
            Retries(self.held.session),
            PATH,
            on_change=self._change,
            failed=lambda path, _: self.failed.append(path),
            effects=self.facts.append,
        )

    def write(self, state: object = ONE) -> None:
        data = state if isinstance(state, bytes) else encode_features(state, kip_778=False)
        write_by_hand(self.held.ensemble, PATH, data)

    def _change(self) -> None:
        self.changes += 1


@pytest.fixture
def world() -> World:
    world = World()
    world.write(ONE)
    world.held.connect()
    world.cache.catch_up()
    world.held.do_all()
    return world


def test_nothing_is_known_before_it_was_read() -> None:
    world = World()
    world.held.connect()
    assert (world.cache.state, world.cache.epoch, world.cache.is_fresh, world.changes) == (None, None, False, 0)
    world.held.do_all()
    assert (world.cache.state, world.cache.epoch, world.cache.is_fresh, world.changes) == (None, None, False, 0)
    world.cache.catch_up()
    world.held.do_all()
    assert (world.cache.state, world.cache.epoch, world.cache.is_fresh, world.changes) == (None, None, True, 1)


def test_changes_are_followed(world: World) -> None:
    assert (world.cache.state, world.cache.epoch, world.changes) == (ONE, 0, 1)
    world.write(TWO)
    world.held.do_all()
    assert (world.cache.state, world.cache.epoch, world.changes) == (TWO, 1, 2)
    delete_by_hand(world.held.ensemble, PATH)
    world.held.do_all()
    assert (world.cache.state, world.cache.epoch, world.changes) == (None, None, 3)


def test_a_znode_that_is_made_anew_begins_with_epoch_0(world: World) -> None:
    world.write(TWO)
    world.held.do_all()
    world.held.has_watches = False
    delete_by_hand(world.held.ensemble, PATH)
    world.write(ONE)
    world.cache.read()
    world.held.do_all()
    assert (world.cache.state, world.cache.epoch) == (ONE, 0)


def test_what_cannot_be_meant_takes_nothing_back_and_is_told_once(world: World) -> None:
    world.write(b"{}")
    world.held.do_all()
    world.cache.read()
    world.held.do_all()
    assert (world.cache.state, world.cache.epoch, world.changes) == (ONE, 0, 2)
    assert str(world.cache.fault) == "znode /features: version is missing"
    assert [fact.event for fact in world.facts] == ["features-unreadable"]
    world.write(TWO)
    world.held.do_all()
    assert (world.cache.state, world.cache.epoch, world.cache.fault) == (TWO, 2, None)


def test_what_is_known_stays_known_without_a_session(world: World) -> None:
    world.held.expire()
    assert (world.cache.state, world.cache.is_fresh) == (ONE, False)
    world.held.connect()
    world.held.do_all()
    assert (world.cache.is_fresh, world.changes) == (False, 1)
    world.cache.catch_up()
    assert not world.cache.is_fresh
    world.held.do_all()
    assert (world.cache.is_fresh, world.changes) == (True, 2)


def test_a_server_that_lags_behind_need_not_have_the_znode_yet(world: World) -> None:
    world.held.expire()
    world.held.connect()
    world.cache._apply(None)
    assert (world.cache.state, world.cache.epoch, world.changes) == (ONE, 0, 1)
    world.cache.catch_up()
    world.cache._apply(None)
    assert (world.cache.state, world.cache.epoch, world.changes) == (None, None, 2)


def test_a_server_that_lags_behind_the_one_before_takes_nothing_back(world: World) -> None:
    before = world.held.ensemble.znode(PATH)
    world.write(TWO)
    world.held.do_all()
    world.held.expire()
    world.held.connect()
    world.cache._apply(before)
    assert (world.cache.state, world.cache.epoch) == (TWO, 1)
    assert isinstance(before, Znode)


def test_a_server_that_lags_behind_has_a_higher_version_of_the_znode_before_it_was_made_anew(world: World) -> None:
    world.write(TWO)
    world.held.do_all()
    before = world.held.ensemble.znode(PATH)
    delete_by_hand(world.held.ensemble, PATH)
    world.write(ONE)
    world.held.do_all()
    world.held.expire()
    world.held.connect()
    assert isinstance(before, Znode)
    world.cache._apply(before)
    assert (before.version, world.cache.state, world.cache.epoch) == (1, ONE, 0)


def test_a_connection_that_was_lost_has_it_read_again(world: World) -> None:
    world.held.has_watches = False
    world.held.lose_connection()
    world.write(TWO)
    world.held.reconnect()
    world.held.do_all()
    assert world.cache.epoch == 1


def test_who_waits_for_an_epoch_is_told_when_it_is_known(world: World) -> None:
    told: list[int] = []
    for epoch in (0, 1, 3):
        world.cache.when_epoch(epoch, lambda epoch=epoch: told.append(epoch))
    assert told == [0]
    world.write(TWO)
    world.held.do_all()
    assert told == [0, 1]
    world.write(ONE)
    world.write(TWO)
    world.held.do_all()
    assert told == [0, 1, 3]


def test_who_waits_for_an_epoch_needs_no_watch(world: World) -> None:
    world.held.has_watches = False
    world.write(TWO)
    told: list[bool] = []
    world.cache.when_epoch(1, lambda: told.append(True))
    world.held.do_all()
    assert told == [True]


def test_what_keeps_it_from_being_read_is_told(world: World) -> None:
    world.cache.read()
    world.held.refuse(KeeperError.NO_AUTH)
    assert world.failed == [PATH]
