"""What becomes of a version in use, one by one; over request logs: see test_api_usage.py."""

import pytest

from falkirk.pipeline.transforms.client_blockers import JAVA_CLIENT, api_fate, client_versions
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release, all_releases
from falkirk.versions.supported_range import SupportedRange

PRODUCE, FETCH, METADATA, API_VERSIONS, END_TXN, DESCRIBE_QUORUM = 0, 1, 3, 18, 26, 55
CONSUMER_HEARTBEAT, PUSH_TELEMETRY, DESCRIBE_TOPIC_PARTITIONS = 68, 72, 75


def fate(release, api_key, version, *, listener=Listener.BROKER, client=None, negotiates=False, at=None):
    return api_fate(
        Release.parse(release), api_key, version, listener=listener, client=client, negotiates=negotiates, at=at
    )


def test_a_version_that_is_offered_stays():
    assert fate("4.0", FETCH, 4) is None
    assert fate("4.0", FETCH, 17) is None


def test_a_client_that_does_not_ask_fails_with_a_version_that_was_removed():
    found = fate("4.0", FETCH, 3)
    assert (found.why, found.offered, found.usable_version, found.is_blocker) == ("removed", "4-17", None, True)
    assert found.what_to_do == "take a client that speaks 4-17"
    assert found.detail == ("Kafka 4.0 offers 4-17, not 3: the client does not ask what the node speaks, and fails")


def test_a_client_that_asks_and_has_a_version_in_common_falls_back():
    found = fate("3.9", FETCH, 18, client=SupportedRange(4, 18), negotiates=True)
    assert (found.why, found.offered, found.usable_version, found.is_blocker) == ("newer", "0-17", 17, False)
    assert (found.what_to_do, found.detail) == (
        "nothing",
        "Kafka 3.9 offers 0-17, not 18: the client falls back to 17 by itself",
    )


def test_asking_does_not_help_where_nothing_is_in_common():
    found = fate("4.0", FETCH, 3, client=SupportedRange(0, 3), negotiates=True)
    assert (found.why, found.usable_version, found.is_blocker) == ("removed", None, True)
    assert found.detail.endswith("the client has 0-3")


def test_of_software_that_is_not_known_asking_is_taken_to_be_enough():
    found = fate("4.0", FETCH, 3, negotiates=True)
    assert (found.usable_version, found.is_blocker) == (None, False)
    assert found.detail.endswith("its own versions are not known")


def test_an_api_that_the_release_lacks_cannot_be_negotiated():
    found = fate("3.6", CONSUMER_HEARTBEAT, 0, client=SupportedRange(0, 1), negotiates=True)
    assert (found.why, found.offered, found.is_blocker) == ("no such API", None, True)
    assert found.what_to_do == "let the client do without it"


@pytest.mark.parametrize("version", [0, 1])
def test_an_api_of_a_feature_that_the_target_drops_is_a_blocker_whatever_versions_are_offered(version):
    for release in ("3.7.2", "3.9.1"):
        at = Release.parse(release).latest_metadata_version
        found = fate(release, CONSUMER_HEARTBEAT, version, client=SupportedRange(0, 1), negotiates=True, at=at)
        assert (found.why, found.offered, found.is_blocker) == ("feature dropped", "0", True)
        assert found.what_to_do == "set group.protocol=classic before"
    assert found.detail == "it works with group.version alone, which Kafka 3.9 does not have at 3.9-IV0"
    at = Release.parse("4.0").latest_metadata_version
    assert fate("4.0", CONSUMER_HEARTBEAT, 0, client=SupportedRange(0, 1), negotiates=True, at=at) is None


def test_producers_follow_the_level_of_transactions_by_themselves():
    at = Release.parse("3.9").latest_metadata_version
    found = fate("3.9", END_TXN, 5, client=SupportedRange(0, 5), negotiates=True, at=at)
    assert (found.why, found.usable_version, found.is_blocker) == ("newer", 4, False)


@pytest.mark.parametrize("api_key", [PUSH_TELEMETRY, DESCRIBE_TOPIC_PARTITIONS])
def test_clients_that_ask_do_without_what_has_a_substitute(api_key):
    assert not fate("3.6", api_key, 0, negotiates=True).is_blocker
    assert fate("3.6", api_key, 0, negotiates=False).is_blocker


def test_controllers_are_asked_on_their_listeners():
    assert fate("3.9", METADATA, 12) is None
    assert fate("3.9", METADATA, 12, listener=Listener.CONTROLLER).why == "no such API"
    assert fate("3.9", DESCRIBE_QUORUM, 2, listener=Listener.CONTROLLER) is None


def test_the_java_client_speaks_what_its_release_does():
    assert client_versions(JAVA_CLIENT, "4.3.1", FETCH) == SupportedRange(4, 18)
    assert client_versions(JAVA_CLIENT, "3.9.0", FETCH) == SupportedRange(0, 17)
    assert client_versions(JAVA_CLIENT, "3.6.2", CONSUMER_HEARTBEAT) is None


@pytest.mark.parametrize(
    ("name", "version"),
    [(None, None), (JAVA_CLIENT, None), (JAVA_CLIENT, "7.6.0-ccs"), ("librdkafka", "2.3.0"), ("kafka-python", "4.3.1")],
)
def test_of_other_software_no_versions_are_known(name, version):
    assert client_versions(name, version, PRODUCE) is None


def test_every_java_client_that_asks_goes_on_producing_on_every_release_that_has_something_in_common():
    for client in all_releases():
        for release in all_releases():
            spoken = client_versions(JAVA_CLIENT, client.name, PRODUCE)
            offered = release.api_ranges(Listener.BROKER).get(PRODUCE)
            if offered is None:
                continue
            found = fate(release.name, PRODUCE, spoken.highest, client=spoken, negotiates=True)
            common = spoken.intersection(offered)
            assert found is None or found.is_blocker is (common is None)
            assert found is None or common is None or found.usable_version == common.highest
