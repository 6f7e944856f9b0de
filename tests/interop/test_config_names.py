"""Which topic and group configs a release does not know yet, asked of the release itself."""

import json

import pytest
from kafka_java import run_program

from falkirk.versions.config_names import GROUP_CONFIGS, TOPIC_CONFIGS, unknown_group_configs, unknown_topic_configs
from falkirk.versions.release import Release

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.xdist_group("kafka-2")]

QUICK = "4.3.1"
RELEASES = ("3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1", "4.2.1", QUICK, "4.4.0")


@pytest.mark.parametrize(
    "release", [pytest.param(name, marks=[] if name == QUICK else [pytest.mark.full]) for name in RELEASES]
)
def test_what_comes_later_is_what_the_release_does_not_know(release: str) -> None:
    has_groups = release >= "4.0"
    known = json.loads(run_program("ConfigNames", ["--groups"] if has_groups else [], release=release))

    later = {name for names in TOPIC_CONFIGS.values() for name in names}
    assert unknown_topic_configs(Release.parse(release)) == later - set(known["topic"])
    if has_groups:
        later = {name for names in GROUP_CONFIGS.values() for name in names}
        assert unknown_group_configs(Release.parse(release)) == later - set(known["group"])


@pytest.mark.full
def test_no_name_of_the_newest_release_is_missing() -> None:
    """What 4.4 knows and 3.7 does not (of groups: 4.0) is listed, all of it."""
    newest = json.loads(run_program("ConfigNames", ["--groups"], release="4.4.0"))
    of_topics = json.loads(run_program("ConfigNames", [], release="3.7.2"))["topic"]
    of_groups = json.loads(run_program("ConfigNames", ["--groups"], release="4.0.0"))["group"]

    assert set(newest["topic"]) - set(of_topics) == unknown_topic_configs(Release.parse("3.7"))
    assert set(newest["group"]) - set(of_groups) == unknown_group_configs(Release.parse("4.0"))
