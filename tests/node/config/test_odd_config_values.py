"""Values that no config should have end no node: not as they are checked, applied or described, nor once stored."""

from __future__ import annotations

import pytest
from immutables import Map

from falkirk.metadata.image.configs import BROKER, GROUP, TOPIC, ConfigResource, ConfigsImage
from falkirk.node.broker.broker_config_changes import SET, BrokerConfigChanges
from falkirk.node.broker.replication.topic_log_configs import TopicLogConfigs
from falkirk.node.config.config_descriptions import ConfigDescriptions
from falkirk.node.config.server_properties import read_server_properties
from falkirk.node.connections.listeners import Listeners
from falkirk.node.effects import Effect, Fact
from falkirk.protocol.messages import IncrementalAlterConfigsRequest
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.slices import exhaust
from falkirk.versions.configs.resources import group_definitions, topic_definitions
from falkirk.versions.configs.server import definitions
from falkirk.versions.release import Release

OWN = "101"
STATIC = {
    "process.roles": "broker",
    "node.id": OWN,
    "listeners": "PLAINTEXT://:9092",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@host:9093",
    "log.dirs": "d",
}
# More than Python reads as a number.
DIGITS = "9" * 5_000
ODD = (
    "",
    DIGITS,
    f"-{DIGITS}",
    "NaN",
    "1e999",
    "-1",
    "²",
    "a\0b",
    ":,",
    f"RULE:a{{{DIGITS}}}/b/",
    f"OWN://a..b:{DIGITS}",
)


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("release", ["3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"])
def test_no_value_of_a_broker_config_raises_what_nobody_expects(release: str) -> None:
    parsed = Release.parse(release)
    config = read_server_properties(STATIC, parsed, hostname="localhost").config
    changes = BrokerConfigChanges(parsed, int(OWN), STATIC)
    for key in (*definitions(parsed), "some.plugin.key"):
        for name in (key, f"listener.name.plaintext.{key}", f"listener.name..{key}"):
            for value in ODD:
                for resource in (OWN, ""):
                    asked = AlterConfigsResource(BROKER, resource, [AlterableConfig(name, SET, value)])
                    exhaust(changes.split(IncrementalAlterConfigsRequest([asked]), ConfigsImage()))
                    stored = ConfigsImage(Map({ConfigResource(BROKER, resource): Map({name: value})}))
                    effects: list[Effect] = []
                    Listeners(config, effects.append).apply(stored)
                    assert not [one for one in effects if isinstance(one, Fact) and "traceback" in one.fields]
                    TopicLogConfigs(config).of(stored, "t")


@pytest.mark.slow
@pytest.mark.parametrize("release", ["3.7", "4.4"])
def test_no_stored_value_of_a_topic_or_group_raises_what_nobody_expects(release: str) -> None:
    parsed = Release.parse(release)
    config = read_server_properties(STATIC, parsed, hostname="localhost").config
    for kind, names in ((TOPIC, topic_definitions(parsed)), (GROUP, group_definitions(parsed))):
        for name in names:
            for value in ODD:
                stored = ConfigsImage(Map({ConfigResource(kind, "x"): Map({name: value})}))
                TopicLogConfigs(config).of(stored, "x")
                described = ConfigDescriptions(parsed, int(OWN), STATIC, stored)
                described.of_topic("x")
                described.of_group("x")
