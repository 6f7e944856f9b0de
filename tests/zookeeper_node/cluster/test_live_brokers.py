"""The brokers that are registered, and what they support."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zookeeper_features import ranges
from zookeeper_world import HeldSession, delete_by_hand, write_by_hand

from falkirk.metadata.zookeeper.broker_znode import BrokerEndpoint, BrokerZnode, encode_broker
from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.cluster.live_brokers import LiveBrokers
from falkirk.zookeeper_node.session.retries import Retries

if TYPE_CHECKING:
    from falkirk.node.effects import Fact

WITH = BrokerZnode((BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "h", 1),), None, 7, ranges(a=(1, 2)))
WITHOUT = BrokerZnode((BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "h", 2),), None, 7, None)


class World:
    """The brokers as a node knows them, and how often it was told of a change."""

    def __init__(self) -> None:
        self.changes = 0
        self.facts: list[Fact] = []
        self.ensemble = Ensemble()
        for path in ("/brokers", "/brokers/ids"):
            write_by_hand(self.ensemble, path, b"")
        self.held = HeldSession(self.ensemble)
        self.brokers = LiveBrokers(
            self.held.session,
            Retries(self.held.session),
            on_change=self._change,
            failed=lambda *_: None,
            effects=self.facts.append,
        )

    def write(self, name: object, data: bytes) -> None:
        write_by_hand(self.ensemble, f"/brokers/ids/{name}", data)

    def _change(self) -> None:
        self.changes += 1


def test_what_they_support_is_known_when_all_are() -> None:
    world = World()
    world.write(10, encode_broker(WITH))
    world.write(9, encode_broker(WITHOUT))
    world.held.connect()
    assert world.brokers.supported is None
    world.held.do_all()
    assert list(world.brokers.brokers.items()) == [(9, WITHOUT), (10, WITH)]
    assert world.brokers.supported == {9: {}, 10: ranges(a=(1, 2))}
    assert world.changes == 1
    delete_by_hand(world.ensemble, "/brokers/ids/9")
    world.held.do_all()
    assert world.brokers.supported == {10: ranges(a=(1, 2))}
    assert world.changes == 2


def test_in_another_session_what_they_support_has_to_be_read_again() -> None:
    world = World()
    world.write(1, encode_broker(WITH))
    world.held.connect()
    world.held.do_all()
    world.held.expire()
    world.held.connect()
    assert world.brokers.supported is None
    assert world.brokers.brokers == {1: WITH}
    world.held.do_all()
    assert world.brokers.supported == {1: ranges(a=(1, 2))}


def test_those_that_cannot_be_meant_count_as_none_and_are_told_once() -> None:
    world = World()
    for name in ("01", "x", "2147483648", "9" * 5000, "-1", "1"):
        world.write(name, b"[]" if name == "1" else encode_broker(WITH))
    world.held.connect()
    world.held.do_all()
    world.brokers.read()
    world.held.do_all()
    assert world.brokers.brokers == {}
    assert [fact.fields["reason"] for fact in world.facts] == [
        "znode /brokers/ids: -1 is no broker's id",
        "znode /brokers/ids: 01 is no broker's id",
        "znode /brokers/ids/1: it is a list, not a JSON object",
        "znode /brokers/ids: 2147483648 is no broker's id",
        f"znode /brokers/ids: {'9' * 5000} is no broker's id",
        "znode /brokers/ids: x is no broker's id",
    ]
    world.write("1", encode_broker(WITH))
    world.held.do_all()
    assert list(world.brokers.brokers) == [1]
