"""Features: levels, dependencies, defaults."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.versions import features
from falkirk.versions.errors import UnknownFeatureLevelError
from falkirk.versions.features import UnsupportedFeature, is_supported, unsupported_features
from falkirk.versions.metadata_version import METADATA_VERSIONS, FeatureLevel, MetadataVersion
from falkirk.versions.release import Release, all_releases
from falkirk.versions.supported_range import SupportedRange

FULL_RELEASES = [release for release in all_releases() if release.tables.kraft is not None]
NEWEST = Release.parse("4.4")
LEVELS = st.integers(0, 5)


def test_levels_begin_at_the_metadata_version_that_a_cluster_is_formatted_at() -> None:
    beginnings = {
        (feature.name, level.level): level.bootstrap_metadata_version.name
        for feature in NEWEST.features.values()
        for level in feature.levels
        if level.level
    }
    assert beginnings == {
        (features.KRAFT_VERSION, 1): "3.9-IV0",
        (features.TRANSACTION_VERSION, 1): "4.0-IV2",
        (features.TRANSACTION_VERSION, 2): "4.0-IV2",
        (features.GROUP_VERSION, 1): "4.0-IV0",
        (features.ELIGIBLE_LEADER_REPLICAS_VERSION, 1): "4.1-IV0",
        (features.SHARE_VERSION, 1): "4.2-IV0",
        (features.SHARE_VERSION, 2): "4.4-IV0",
        (features.STREAMS_VERSION, 1): "4.2-IV1",
    }


@pytest.mark.parametrize("release", FULL_RELEASES, ids=str)
def test_a_default_level_never_falls_as_the_metadata_version_rises(release: Release) -> None:
    for feature in release.features.values():
        levels = [feature.default_level(version) for version in METADATA_VERSIONS]
        assert levels == sorted(levels)
        assert levels[0] == 0


@pytest.mark.parametrize("release", FULL_RELEASES, ids=str)
def test_levels_are_whole_and_need_what_the_release_has(release: Release) -> None:
    known = release.supported_features(unstable=True)
    for feature in release.features.values():
        assert [level.level for level in feature.levels] == list(feature.supported_unstable)
        for level in feature.levels:
            for name, needed in level.dependencies.items():
                assert needed in known[name], (feature.name, level.level, name)


def test_eligible_leader_replicas_alone_need_a_metadata_version() -> None:
    needing = {
        feature.name: dict(level.dependencies)
        for feature in NEWEST.features.values()
        for level in feature.levels
        if level.dependencies
    }
    assert needing == {features.ELIGIBLE_LEADER_REPLICAS_VERSION: {"metadata.version": 23}}


def test_dynamic_quorums_needed_their_metadata_version_until_4_1() -> None:
    needed = {
        release.word: dict(release.feature(features.KRAFT_VERSION).level(1).dependencies)
        for release in FULL_RELEASES
        if features.KRAFT_VERSION in release.features
    }
    assert needed == {
        "3.9": {"metadata.version": 21},
        "4.0": {"metadata.version": 21},
        **{word: {} for word in ("4.1", "4.2", "4.3", "4.4")},
    }


def test_levels_say_what_nodes_write() -> None:
    kraft = NEWEST.feature(features.KRAFT_VERSION)
    assert [level.writes["quorum_state"] for level in kraft.levels] == [0, 1]
    transactions = NEWEST.feature(features.TRANSACTION_VERSION)
    assert [level.writes["transaction_log_value"] for level in transactions.levels] == [0, 1, 1]
    assert [sorted(level.abilities) for level in transactions.levels] == [[], [], ["epoch_bump"]]


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(UnknownFeatureLevelError, match=r"transaction\.version has no level 9: levels are 0 to 2"):
        NEWEST.feature(features.TRANSACTION_VERSION).level(9)


def test_a_new_cluster_starts_at_the_defaults_of_its_metadata_version() -> None:
    defaults = {
        name: list(NEWEST.default_levels(MetadataVersion.parse(name)).values()) for name in ("3.7", "4.0", "4.4")
    }
    # kraft, transaction, group, eligible leader replicas, share, streams
    assert defaults == {"3.7": [0, 0, 0, 0, 0, 0], "4.0": [1, 2, 1, 0, 0, 0], "4.4": [1, 2, 1, 1, 2, 1]}


def test_an_unstable_level_counts_for_the_release_that_knows_it() -> None:
    release = Release.parse("4.1")
    coming = release.metadata_version(29)
    assert (coming.name, coming.unstable) == ("4.2-IV1", True)
    assert release.default_levels(coming)[features.STREAMS_VERSION] == 1


@given(LEVELS, LEVELS, LEVELS)
def test_a_server_supports_what_lies_in_its_range_and_level_0_of_what_it_does_not_know(
    level: int, lowest: int, more: int
) -> None:
    assert is_supported(level, SupportedRange(lowest, lowest + more)) == (lowest <= level <= lowest + more)
    assert is_supported(level, None) == (level == 0)


def test_unsupported_features_are_named_with_what_is_supported() -> None:
    supported = {"metadata.version": SupportedRange(7, 25), "share.version": SupportedRange(0, 1)}
    finalized = {"share.version": 2, "metadata.version": 25, "streams.version": 1, "group.version": 0}
    unsupported = unsupported_features(finalized, supported)
    assert [str(feature) for feature in unsupported] == [
        "share.version 2 (supports 0-1)",
        "streams.version 1 (unknown)",
    ]
    assert unsupported[0] == UnsupportedFeature(
        name="share.version", level=FeatureLevel(2), supported=SupportedRange(0, 1)
    )
