import pytest
from metadata_images import image_of

from falkirk.metadata.levels.feature_levels import FeatureTarget, levels_at, needed_metadata_version
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

ALL = {
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 2,
    "streams.version": 1,
    "transaction.version": 2,
}


def features(levels, at=33):
    return image_of(*(FeatureLevelRecord(name, level) for name, level in levels.items()), level=at).features


def target(at, release=None, **fields):
    found = None if release is None else Release.parse(release)
    return FeatureTarget(metadata_version=MetadataVersion.parse(str(at)), release=found, **fields)


@pytest.mark.parametrize(
    ("at", "release", "kept"),
    [
        ("3.7-IV4", "3.7", {}),
        ("3.9-IV0", "3.9", {}),
        ("4.0-IV3", "4.0", {name: ALL[name] for name in ALL if name[:2] not in {"sh", "st"}}),
        ("4.3-IV0", "4.3", ALL | {"share.version": 1}),
        ("4.4-IV2", "4.4", ALL),
    ],
)
def test_nodes_keep_the_features_that_their_release_supports(at, release, kept):
    assert levels_at(features(ALL), target(at, release))[0] == kept


def test_each_feature_that_goes_or_falls_is_named_with_the_reason():
    _, losses = levels_at(features(ALL), target("4.3-IV0", "4.3"))

    assert [(loss.kind, loss.before, loss.after) for loss in losses] == [
        ("feature_lowered", {"feature_level": 2}, {"feature_level": 1})
    ]
    assert losses[0].detail == "share.version 2 is lowered to 1: release 4.3.1 supports 0-1"
    _, losses = levels_at(features(ALL), target("3.9-IV0", "3.9"))
    assert [loss.detail for loss in losses] == [
        "eligible.leader.replicas.version 1 is dropped: release 3.9.1 does not know it",
        "group.version 1 is dropped: release 3.9.1 does not know it",
        "share.version 2 is dropped: release 3.9.1 does not know it",
        "streams.version 1 is dropped: release 3.9.1 does not know it",
        "transaction.version 2 is dropped: release 3.9.1 does not know it",
    ]
    assert all(loss.record == "FeatureLevelRecord" and loss.after is None for loss in losses)


def test_a_release_that_runs_a_feature_keeps_it_below_the_level_at_which_new_clusters_have_it():
    kept, losses = levels_at(features({"eligible.leader.replicas.version": 1}), target("4.0-IV3", "4.0"))

    assert kept == {"eligible.leader.replicas.version": 1}
    assert losses == []


def test_without_a_release_the_level_at_which_new_clusters_have_a_feature_counts():
    kept, losses = levels_at(features(ALL), target("4.0-IV0"))

    assert kept == {"group.version": 1}
    assert [loss.detail for loss in losses][-1] == (
        "transaction.version 2 is dropped: clusters have it from metadata.version 4.0-IV2 on"
    )
    assert levels_at(features(ALL), target("4.0-IV0", bootstrap_levels_bind=False))[0] == {
        name: level for name, level in ALL.items() if not name.startswith("eligible")
    }


def test_a_level_that_a_feature_depends_on_counts_for_a_release_that_knows_it():
    _, (loss,) = levels_at(features({"eligible.leader.replicas.version": 1}), target("4.0-IV0", "4.0"))

    assert loss.detail == "eligible.leader.replicas.version 1 is dropped: it needs metadata.version 4.0-IV1"


def test_at_its_own_level_a_cluster_keeps_what_it_has():
    early = {"share.version": 1, "later.version": 3}

    assert levels_at(features(early, at=25), target(25)) == (early, [])
    assert levels_at(features(early, at=25), target(30)) == (early, [])


def test_a_feature_that_nobody_knows_does_not_come_along():
    kept, losses = levels_at(features({"later.version": 3}), target("3.9-IV0"))

    assert kept == {}
    assert losses[0].detail == "later.version 3 is dropped: no release up to 4.4 knows it"
    assert losses[0].level is None


def test_a_level_that_nobody_knows_falls_to_the_highest_known_one():
    kept, _ = levels_at(features({"transaction.version": 5}), target("4.0-IV3", "4.0"))

    assert kept == {"transaction.version": 2}


def test_only_eligible_replicas_and_kraft_depend_on_a_metadata_version():
    assert needed_metadata_version("eligible.leader.replicas.version", 1) == MetadataVersion.parse("4.0-IV1")
    assert needed_metadata_version("kraft.version", 1) == MetadataVersion.parse("3.9-IV0")
    assert needed_metadata_version("kraft.version", 1, Release.parse("4.0")) == MetadataVersion.parse("3.9-IV0")
    assert needed_metadata_version("kraft.version", 1, Release.parse("4.3")) is None
    assert needed_metadata_version("transaction.version", 2) is None
    assert needed_metadata_version("later.version", 1) is None
