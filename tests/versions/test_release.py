"""Named releases: what each one speaks and supports."""

from collections.abc import Callable

import pytest

from falkirk.versions.api_support import Listener
from falkirk.versions.errors import (
    IncompleteReleaseError,
    UnknownFeatureError,
    UnknownMetadataVersionError,
    UnknownReleaseError,
)
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release, all_releases, latest_release

FULL = ["3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1", "4.2.1", "4.3.1", "4.4.0"]
# Names and ranges of some APIs in 3.7.2, 3.9.1, 4.0.0, 4.3.1, 4.4.0.
API_RANGES = {
    0: ("Produce", "0-10", "0-11", "3-12", "3-13", "3-13"),
    1: ("Fetch", "0-16", "0-17", "4-17", "4-18", "4-18"),
    18: ("ApiVersions", "0-3", "0-4", "0-4", "0-4", "0-5"),
    52: ("Vote", "0", "0-1", "0-2", "0-2", "0-2"),
    53: ("BeginQuorumEpoch", "0", "0-1", "0-1", "0-1", "0-1"),
    54: ("EndQuorumEpoch", "0", "0-1", "0-1", "0-1", "0-1"),
    55: ("DescribeQuorum", "0-1", "0-2", "0-2", "0-2", "0-2"),
    56: ("AlterPartition", "0-3", "0-3", "2-3", "2-3", "2-3"),
    57: ("UpdateFeatures", "0-1", "0-1", "0-2", "0-2", "0-2"),
    58: ("Envelope", "0", "0", "0", "0", "0"),
    59: ("FetchSnapshot", "0", "0-1", "0-1", "0-1", "0-1"),
    62: ("BrokerRegistration", "0-3", "0-4", "0-4", "0-4", "0-4"),
    63: ("BrokerHeartbeat", "0-1", "0-1", "0-1", "0-2", "0-2"),
    67: ("AllocateProducerIds", "0", "0", "0", "0", "0"),
    80: ("AddRaftVoter", None, "0", "0", "0-1", "0-1"),
    82: ("UpdateRaftVoter", None, "0", "0", "0", "0"),
    94: ("UnregisterController", None, None, None, None, "0"),
}
COMPARED = ["3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"]


def test_all_releases_stand_in_order_and_the_newest_is_last() -> None:
    names = [str(release) for release in all_releases()]
    assert names[:2] == ["2.4.1", "2.5.1"]
    assert names[-8:] == FULL
    assert len(names) == 20
    assert str(latest_release()) == "4.4.0"


@pytest.mark.parametrize("release", all_releases(), ids=str)
def test_a_release_is_found_by_its_name_and_its_word(release: Release) -> None:
    assert Release.parse(release.name) is release
    assert Release.parse(release.word) is release
    assert release.name.startswith(f"{release.word}.")


@pytest.mark.parametrize("text", ["3.9.0", "3.9.2", "4.5", "", "3", "v3.9", "3.9-IV0"])
def test_a_release_that_is_not_in_the_tables_is_refused(text: str) -> None:
    with pytest.raises(UnknownReleaseError, match=r"the tables hold 2\.4 \(2\.4\.1\)"):
        Release.parse(text)


def test_only_releases_that_were_read_in_full_answer_more_than_api_ranges() -> None:
    assert [str(release) for release in all_releases() if release.tables.kraft is not None] == FULL
    old = Release.parse("3.6")
    assert old.api_ranges(Listener.BROKER)
    with pytest.raises(IncompleteReleaseError, match=r"only the API ranges of release 3\.6\.2"):
        old.supported_features()


def test_where_the_numbers_come_from_is_said() -> None:
    sources = {release.name: release.read_from for release in all_releases()}
    assert [name for name, source in sources.items() if source == "jars"] == FULL
    derived = [release.name for release in all_releases() if release.tables.derived]
    assert derived == ["2.4.1", "2.5.1", "2.6.3", "2.7.2"]


@pytest.mark.parametrize("key", API_RANGES)
def test_api_ranges_are_those_of_the_released_jars(key: int) -> None:
    name, *ranges = API_RANGES[key]
    for word, versions in zip(COMPARED, ranges, strict=True):
        api = Release.parse(word).apis.get(key)
        assert (str(api.versions) if api else None) == versions, word
        assert api is None or api.name == name


@pytest.mark.parametrize(
    ("release", "listener", "count"),
    [
        ("2.4", Listener.ZK_BROKER, 48),
        ("2.4", Listener.BROKER, 0),
        ("3.9", Listener.ZK_BROKER, 62),
        ("3.9", Listener.BROKER, 63),
        ("4.4", Listener.ZK_BROKER, 0),
        ("4.4", Listener.BROKER, 79),
        ("4.4", Listener.CONTROLLER, 42),
    ],
)
def test_a_listener_offers_the_apis_that_it_serves(release: str, listener: Listener, count: int) -> None:
    assert len(Release.parse(release).api_ranges(listener)) == count


def test_versions_that_are_not_stable_are_offered_only_when_asked_for() -> None:
    init_producer_id, share_fetch = 22, 78
    newest = Release.parse("4.4")
    assert str(newest.api_ranges(Listener.BROKER)[init_producer_id]) == "0-5"
    assert str(newest.api_ranges(Listener.BROKER, unstable=True)[init_producer_id]) == "0-6"
    assert share_fetch not in Release.parse("4.0").api_ranges(Listener.BROKER)
    assert share_fetch in Release.parse("4.0").api_ranges(Listener.BROKER, unstable=True)


def test_an_api_that_a_release_dropped_is_known_and_not_offered() -> None:
    leader_and_isr = 4
    assert Release.parse("4.0").apis[leader_and_isr].versions is None
    assert leader_and_isr not in Release.parse("4.0").api_ranges(Listener.BROKER)
    assert leader_and_isr in Release.parse("3.9").api_ranges(Listener.ZK_BROKER)


def test_zookeeper_ends_with_4_0() -> None:
    assert [release.word for release in all_releases() if not release.has_zookeeper] == [
        "4.0",
        "4.1",
        "4.2",
        "4.3",
        "4.4",
    ]


@pytest.mark.parametrize("release", all_releases(), ids=str)
def test_stable_versions_lie_within_the_versions(release: Release) -> None:
    for api in release.apis.values():
        for part in (api.stable_versions, api.deprecated_versions):
            if part is not None:
                assert api.versions is not None
                assert part.lowest == api.versions.lowest
                assert part.highest <= api.versions.highest
        assert (api.versions is None) == (not api.listeners), api.name


def test_supported_features_of_each_release() -> None:
    supported = {
        name: " ".join(f"{feature}={levels}" for feature, levels in Release.parse(name).supported_features().items())
        for name in FULL
    }
    assert supported == {
        "3.7.2": "metadata.version=1-19",
        "3.8.1": "metadata.version=1-20",
        "3.9.1": "kraft.version=0-1 metadata.version=1-21",
        "4.0.0": "eligible.leader.replicas.version=0-1 group.version=0-1 kraft.version=0-1 metadata.version=7-25 "
        "transaction.version=0-2",
        "4.1.1": "eligible.leader.replicas.version=0-1 group.version=0-1 kraft.version=0-1 metadata.version=7-27 "
        "share.version=0-1 transaction.version=0-2",
        "4.2.1": "eligible.leader.replicas.version=0-1 group.version=0-1 kraft.version=0-1 metadata.version=7-29 "
        "share.version=0-1 streams.version=0-1 transaction.version=0-2",
        "4.3.1": "eligible.leader.replicas.version=0-1 group.version=0-1 kraft.version=0-1 metadata.version=7-30 "
        "share.version=0-1 streams.version=0-1 transaction.version=0-2",
        "4.4.0": "eligible.leader.replicas.version=0-1 group.version=0-1 kraft.version=0-1 metadata.version=7-33 "
        "share.version=0-2 streams.version=0-1 transaction.version=0-2",
    }


def test_unstable_features_are_supported_only_when_asked_for() -> None:
    release = Release.parse("3.9")
    assert "transaction.version" not in release.supported_features()
    assert str(release.supported_features(unstable=True)["transaction.version"]) == "0-2"
    assert str(release.supported_features(unstable=True)["metadata.version"]) == "1-23"


def test_a_release_names_the_finalized_features_that_it_would_not_run_with() -> None:
    finalized = {"metadata.version": 30, "group.version": 1, "kraft.version": 1, "streams.version": 0}
    told = {word: [str(one) for one in Release.parse(word).unsupported_features(finalized)] for word in ("3.9", "4.3")}
    assert told == {
        "3.9": ["group.version 1 (unknown)", "metadata.version 30 (supports 1-21)"],
        "4.3": [],
    }


def test_an_unknown_feature_is_refused() -> None:
    with pytest.raises(UnknownFeatureError, match=r"release 3\.9\.1 has no feature group\.version"):
        Release.parse("3.9").feature("group.version")


@pytest.mark.parametrize("name", FULL)
def test_a_release_runs_up_to_its_own_latest_level(name: str) -> None:
    release = Release.parse(name)
    assert release.latest_metadata_version == MetadataVersion.parse(release.word)
    assert release.latest_metadata_version.level == release.supported_features()["metadata.version"].highest


def test_a_draft_of_a_level_is_as_its_release_understood_it() -> None:
    draft = Release.parse("3.7").metadata_version(20)
    settled = Release.parse("3.9").metadata_version(20)
    assert (draft.name, draft.elr_supported, draft.partition_record_version) == ("3.8-IV0", True, 2)
    assert (settled.name, settled.elr_supported, settled.partition_record_version) == ("3.8-IV0", False, 1)
    assert draft.unstable
    assert not settled.unstable
    assert draft == settled


def test_a_level_below_the_minimum_or_beyond_the_release_is_refused() -> None:
    release = Release.parse("4.0")
    assert release.metadata_version(7).name == "3.3-IV3"
    for level in (6, 27):
        with pytest.raises(UnknownMetadataVersionError, match=r"it knows 3\.3-IV3 to 4\.1-IV0"):
            release.metadata_version(level)


def test_3_x_formats_clusters_from_3_3_on_and_4_x_from_its_minimum() -> None:
    formatted = {
        name: str(Release.parse(name).kraft.minimum_bootstrap) for name in ("3.7.2", "3.9.1", "4.0.0", "4.4.0")
    }
    assert formatted == {"3.7.2": "3.3-IV0", "3.9.1": "3.3-IV0", "4.0.0": "3.3-IV3", "4.4.0": "3.3-IV3"}


def test_records_that_each_release_can_read() -> None:
    counts = {
        name: [
            len(part)
            for part in (kraft.metadata_records, kraft.control_records, kraft.group_records, kraft.share_records)
        ]
        for name in FULL
        for kraft in [Release.parse(name).kraft]
    }
    assert counts == {
        "3.7.2": [25, 5, 9, 0],
        "3.8.1": [25, 7, 9, 0],
        "3.9.1": [25, 7, 12, 0],
        "4.0.0": [26, 7, 17, 2],
        "4.1.1": [26, 7, 22, 2],
        "4.2.1": [26, 7, 22, 2],
        "4.3.1": [26, 7, 22, 2],
        "4.4.0": [27, 7, 22, 2],
    }


def test_a_coordinator_record_names_its_messages() -> None:
    offset_commit = Release.parse("4.4").kraft.group_records[1]
    assert (offset_commit.key_name, offset_commit.value_name) == ("OffsetCommitKey", "OffsetCommitValue")
    assert (str(offset_commit.value_versions), offset_commit.flexible_from) == ("0-4", 4)
    legacy = Release.parse("4.4").kraft.group_records[0]
    assert (legacy.key_name, str(legacy.value_versions), legacy.flexible_from) == ("LegacyOffsetCommitKey", "0", None)
    assert Release.parse("4.0").kraft.group_records[0].key_name == "OffsetCommitKey"


def test_releases_are_equal_by_name() -> None:
    assert len({Release.parse("4.4"), Release.parse("4.4.0"), latest_release()}) == 1
    assert Release.parse("4.4") != "4.4.0"


def test_releases_answer_updates_of_features_in_their_own_ways() -> None:
    def since(holds: Callable[[Release], bool]) -> str:
        return next(release.word for release in all_releases() if release.tables.kraft is not None and holds(release))

    assert since(lambda release: release.updates_features_together) == "4.0"
    assert since(lambda release: release.updates_kraft_version) == "4.1"
    assert since(lambda release: release.names_both_levels) == "4.2"


def test_members_commit_at_past_epochs_since_4_3() -> None:
    assert not Release.parse("4.2").accepts_commits_of_past_epochs
    assert Release.parse("4.3").accepts_commits_of_past_epochs
