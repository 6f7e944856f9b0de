"""The config tables of all releases, against the facts that they are made of."""

import json

import pytest
from config_facts import RELEASES, config_facts

from falkirk.versions.configs.definition import Required
from falkirk.versions.configs.resources import (
    client_metrics_definitions,
    group_definitions,
    topic_definitions,
    unknown_group_configs,
    unknown_topic_configs,
)
from falkirk.versions.configs.server import definitions, dynamic_configs, dynamic_lists, internal_configs
from falkirk.versions.release import Release, all_releases

KINDS = {
    "server": definitions,
    "topic": topic_definitions,
    "group": group_definitions,
    "client_metrics": client_metrics_definitions,
}


def facts_of(release):
    return json.loads(config_facts(release))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_release_defines_what_its_facts_say(kind, release):
    keys = {name: key for name, key in facts_of(release)[kind].items() if "type" in key}
    known = KINDS[kind](Release.parse(release))
    assert list(known) == sorted(keys)
    for name, key in keys.items():
        definition = known[name]
        assert (name, definition.type.value) == (name, key["type"])
        assert (name, definition.default is Required.REQUIRED) == (name, "default" not in key)
        default = key.get("default")
        if default is None or key["type"] != "DOUBLE":
            assert (name, definition.default_text) == (name, default)
        else:
            assert (name, definition.default) == (name, float(default))
        assert (name, definition.is_internal) == (name, key.get("internal", False))


@pytest.mark.parametrize("release", RELEASES)
def test_a_running_broker_takes_what_its_facts_say(release):
    keys = facts_of(release)["server"]
    known = Release.parse(release)
    assert dynamic_configs(known) == {name for name, key in keys.items() if key.get("dynamic")}
    lists = {name for name, key in keys.items() if key.get("dynamic") and key.get("type") == "LIST"}
    assert dynamic_lists(known).keys() == lists
    assert internal_configs(known) == {name for name, key in keys.items() if key.get("internal")}


@pytest.mark.parametrize(
    ("kind", "unknown", "first"), [("topic", unknown_topic_configs, "3.7.2"), ("group", unknown_group_configs, "4.0.0")]
)
def test_what_comes_later_is_what_a_release_does_not_know(kind, unknown, first):
    later = {name for release in RELEASES for name in facts_of(release)[kind]} - facts_of(first)[kind].keys()
    for release in RELEASES:
        if release >= first:
            assert unknown(Release.parse(release)) == later - facts_of(release)[kind].keys()
    assert unknown(all_releases()[0]) == later
