"""What dynamic broker configs make of a node's listeners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from immutables import Map

from falkirk.metadata.image.configs import BROKER, ConfigResource, ConfigsImage
from falkirk.node.config.server_properties import read_server_properties
from falkirk.node.connections import listeners
from falkirk.node.connections.listeners import Listeners
from falkirk.node.effects import Effect, Fact, Reconfigured
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

PROTOCOLS = "listener.security.protocol.map"
STATIC = {
    "process.roles": "broker",
    "node.id": "7",
    "listeners": "PLAINTEXT://:9092,SECOND://:9093",
    "advertised.listeners": "PLAINTEXT://host:9092",
    PROTOCOLS: "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@host:9093",
    "log.dirs": "d",
}


class World:
    def __init__(self) -> None:
        self.effects: list[Effect] = []
        config = read_server_properties(STATIC, Release.parse("4.3.1"), hostname="localhost").config
        self.listeners = Listeners(config, self.effects.append)

    def apply(self, own: Mapping[str, str] | None = None, default: Mapping[str, str] | None = None) -> Effect | None:
        """Return the effect, if there is one."""
        layers = {"7": own or {}, "": default or {}}
        image = {ConfigResource(BROKER, name): Map(configs) for name, configs in layers.items()}
        self.effects.clear()
        self.listeners.apply(ConfigsImage(Map(image)))
        assert len(self.effects) <= 1
        return self.effects[0] if self.effects else None


def test_a_listener_comes_and_goes_by_its_name() -> None:
    world = World()
    changed = {
        "listeners": "PLAINTEXT://:19092,NEW://127.0.0.1:9094",
        PROTOCOLS: STATIC[PROTOCOLS] + ",NEW:SASL_PLAINTEXT",
        "listener.name.new.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.new.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule"
        " required;",
    }
    effect = world.apply(changed)
    assert isinstance(effect, Reconfigured)
    assert (effect.opened, effect.closed) == (("NEW",), ("SECOND",))
    assert effect.properties == STATIC | changed
    assert world.listeners.by_name.keys() == {"PLAINTEXT", "NEW"}
    assert world.listeners.by_name["PLAINTEXT"].endpoint.port == 9092
    assert not world.listeners.by_name["NEW"].is_advertised
    assert world.listeners.security.of_listener("NEW").mechanisms == ("SCRAM-SHA-256",)
    assert world.apply(changed) is None

    effect = world.apply()
    assert isinstance(effect, Reconfigured)
    assert (effect.opened, effect.closed) == (("SECOND",), ("NEW",))


def test_limits_of_all_brokers_count_and_those_of_this_one_more() -> None:
    world = World()
    effect = world.apply(
        {"max.connections": "5"},
        {"max.connections": "9", "max.connections.per.ip": "4", "listener.name.second.max.connections": "3"},
    )
    assert isinstance(effect, Reconfigured)
    assert effect.properties == STATIC | {
        "max.connections": "5",
        "max.connections.per.ip": "4",
        "listener.name.second.max.connections": "3",
    }
    assert (effect.opened, effect.closed) == ((), ())


def test_other_configs_and_values_that_mean_nothing_change_nothing() -> None:
    own = {"log.retention.ms": "1", "max.connections": "many", "listener.name.second.max.connections": "0"}
    assert World().apply(own, {"listeners": "PLAINTEXT://:1", "max.connection.creation.rate": "-1"}) is None


def test_what_is_wrong_together_is_said_once_and_nothing_changes() -> None:
    world = World()
    wrong = {"listeners": "PLAINTEXT://:9092,NEW://:9094"}
    effect = world.apply(wrong)
    assert isinstance(effect, Fact)
    assert (effect.level, effect.event) == ("error", "broker-configs-not-applied")
    assert "No security protocol defined for listener NEW" in str(effect.fields["reason"])
    assert world.listeners.by_name.keys() == {"PLAINTEXT", "SECOND"}
    assert world.apply(wrong) is None


def test_a_fault_of_ours_at_dynamic_configs_leaves_the_listeners_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    before = world.listeners.by_name
    monkeypatch.setattr(listeners, "read_security_settings", lambda _: 1 / 0)
    effect = world.apply({"max.connections": "7"})
    assert isinstance(effect, Fact)
    assert (effect.level, effect.fields["reason"]) == ("error", "ZeroDivisionError: division by zero")
    assert world.listeners.by_name is before
