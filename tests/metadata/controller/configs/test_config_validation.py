"""What configs a resource may have: as the controllers of real Kafka answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from immutables import Map

from falkirk.metadata.controller.configs.config_resolution import ConfigResolution
from falkirk.metadata.controller.configs.config_validation import (
    configs_error,
    is_known_resource_type,
)
from falkirk.metadata.image.configs import ConfigResource, ConfigsImage
from falkirk.protocol.error_codes import ErrorCode
from falkirk.versions.release import Release, all_releases

ANSWERS = Path(__file__).parents[3] / "data/configs/validation.tsv"
TYPES = {"TOPIC": 2, "BROKER": 4, "BROKER_LOGGER": 8, "CLIENT_METRICS": 16, "GROUP": 32}
RELEASES = ("3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4")

# Where we answer otherwise on purpose: configs, releases, our answer.
DIFFERENT = {
    # No number at all; Kafka falls over it.
    ("CLIENT_METRICS", "interval.ms=x"): (("3.7", "3.8", "3.9"), ErrorCode.INVALID_CONFIG),
    # Empty lists are lists; 3.x asks a client for the property "".
    ("CLIENT_METRICS", "match="): (("3.7", "3.8", "3.9"), ErrorCode.NONE),
    # It is no number.
    ("TOPIC", "min.cleanable.dirty.ratio=NaN"): (RELEASES, ErrorCode.INVALID_CONFIG),
    # A slip of 4.1 alone.
    ("TOPIC", "remote.storage.enable=true|cleanup.policy="): (("4.1",), ErrorCode.NONE),
}


def read(text):
    return dict(entry.split("=", 1) for entry in text.split("|")) if text else {}


def answers():
    """Yield (release, is tiered, resource, configs, configs before, Kafka's answer)."""
    order = [release.name for release in all_releases()]
    for line in ANSWERS.read_text().splitlines():
        tier, kind, name, configs, before, told = line.split("\t")
        since = dict(answer.split(" ") for answer in told.split("; "))
        for word in RELEASES:
            release = Release.parse(word)
            at_most = [first for first in since if order.index(first) <= order.index(release.name)]
            if at_most:
                yield release, tier == "tiered", ConfigResource(TYPES[kind], name), configs, before, since[at_most[-1]]


@pytest.mark.parametrize("word", RELEASES)
def test_configs_are_taken_and_refused_as_real_kafka_does(word):
    checked = 0
    for release, is_tiered, resource, configs, before, told in answers():
        if release.word != word:
            continue
        kind = next(name for name, number in TYPES.items() if number == resource.resource_type)
        if not is_known_resource_type(resource.resource_type, release):
            assert told == "INVALID_REQUEST" or kind == "GROUP"
            continue
        resolution = ConfigResolution(
            release=release,
            node_id=1,
            static_configs={"remote.log.storage.system.enable": "true"} if is_tiered else {},
        )
        image = ConfigsImage(Map({resource: Map(read(before))}))
        error = configs_error(resource, read(configs), image=image, resolution=resolution)
        releases, ours = DIFFERENT.get((kind, configs), ((), None))
        expected = ours if word in releases and (is_tiered or "remote" not in configs) else ErrorCode[told]
        assert error.error_code == expected, (kind, resource.resource_name, configs, before, is_tiered, error)
        assert error.error_code is ErrorCode.NONE or error.message
        checked += 1
    assert checked > 200


@pytest.mark.parametrize(
    ("release", "config", "reason"),
    [
        (
            "4.3",
            "streams.session.timeout.ms=1",
            "streams.session.timeout.ms must be greater than or equal to group.streams.min.session.timeout.ms",
        ),
        (
            "4.0",
            "consumer.heartbeat.interval.ms=15001",
            "consumer.heartbeat.interval.ms must be less than or equal to group.consumer.max.heartbeat.interval.ms",
        ),
        (
            "4.3",
            "streams.num.standby.replicas=3",
            "streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas",
        ),
        (
            "4.4",
            "streams.session.timeout.ms=1",
            "streams.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
        ),
        ("4.4", "streams.num.standby.replicas=3", "streams.num.standby.replicas must be less than or equal to 2"),
    ],
)
def test_a_group_config_beyond_its_limits_is_refused_in_the_words_of_the_release(release, config, reason):
    """As GroupConfig of 4.0.0, 4.3.1 and 4.4.0 has them."""
    resolution = ConfigResolution(release=Release.parse(release), node_id=1, static_configs={})
    error = configs_error(
        ConfigResource(TYPES["GROUP"], "g"), read(config), image=ConfigsImage(), resolution=resolution
    )
    assert (error.error_code, error.message) == (ErrorCode.INVALID_CONFIG, reason)
