"""The cluster has one id, whoever gives it."""

from __future__ import annotations

from random import Random

from zookeeper_world import HeldSession, write_by_hand

from falkirk.metadata.zookeeper.cluster_id_znode import CLUSTER_ID_PATH, decode_cluster_id, encode_cluster_id
from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.cluster.cluster_id import ClusterId
from falkirk.zookeeper_node.session.operations import Create, KeeperError
from falkirk.zookeeper_node.session.retries import Retries


class World:
    """A node that looks for the id."""

    def __init__(self, ensemble: Ensemble, seed: int = 1) -> None:
        self.failures: list[str] = []
        self.held = HeldSession(ensemble)
        self.cluster_id = ClusterId(Retries(self.held.session), Random(seed), failed=self.failures.append)
        self.held.connect()
        self.cluster_id.find()


def test_an_id_that_is_there_is_taken() -> None:
    ensemble = Ensemble()
    write_by_hand(ensemble, "/cluster", b"")
    write_by_hand(ensemble, CLUSTER_ID_PATH, encode_cluster_id("mine"))
    world = World(ensemble)
    world.held.do_all()
    assert world.cluster_id.value == "mine"


def test_of_two_who_make_one_at_once_both_take_the_first() -> None:
    ensemble = Ensemble()
    worlds = [World(ensemble, seed) for seed in (1, 2)]
    for world in worlds:
        world.held.do_until(Create)
    for world in worlds:
        world.held.do_all()
    znode = ensemble.znode(CLUSTER_ID_PATH)
    assert znode is not None
    assert {world.cluster_id.value for world in worlds} == {decode_cluster_id(znode.data)}


def test_an_expired_session_leaves_it_to_the_next() -> None:
    world = World(Ensemble())
    world.held.do()
    world.held.expire()
    assert (world.failures, world.cluster_id.value) == ([], None)
    world.held.connect()
    world.cluster_id.find()
    world.held.do_all()
    assert world.cluster_id.value is not None


def test_what_is_in_the_way_is_told() -> None:
    world = World(Ensemble())
    world.held.do()
    world.held.refuse(KeeperError.OTHER, detail="NotWanted")
    assert world.failures == ["znode /cluster/id: NotWanted"]
