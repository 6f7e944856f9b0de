"""What is left out of a node's answer is listed, and nothing else is."""

import pytest

from falkirk.versions.api_support import Listener
from falkirk.versions.release import all_releases
from falkirk.versions.unbuilt import UNBUILT, served_ranges

PROFILES = [release for release in all_releases() if release.tables.kraft is not None]


@pytest.mark.parametrize("release", PROFILES, ids=str)
@pytest.mark.parametrize("listener", [Listener.BROKER, Listener.CONTROLLER])
def test_what_is_served_is_what_the_release_offers_without_what_is_listed(release, listener):
    offered = release.api_ranges(listener)
    served = served_ranges(release, listener)
    assert all(versions == offered[key] for key, versions in served.items())
    assert offered.keys() - served.keys() == {key for at, key in UNBUILT if at is listener} & offered.keys()
    assert list(served) == sorted(served)


def test_every_line_is_about_an_api_that_some_release_offers_there():
    for listener, key in UNBUILT:
        assert any(key in release.api_ranges(listener, unstable=True) for release in PROFILES), (listener, key)


def test_controllers_lack_only_features_and_what_brokers_of_zookeepers_time_ask():
    assert {key for listener, key in UNBUILT if listener is Listener.CONTROLLER} == {7}


def test_every_release_serves_version_0_of_api_versions():
    for release in PROFILES:
        for listener in (Listener.BROKER, Listener.CONTROLLER):
            assert served_ranges(release, listener)[18].lowest == 0
