"""What a target keeps of features."""

import pytest

from falkirk.pipeline.transforms.feature_targets import FeatureAnswer, kept_level, target_of
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release


@pytest.mark.parametrize(
    ("feature", "level", "to", "release", "kept"),
    [
        ("transaction.version", 2, "4.0", "4.0", 2),
        ("transaction.version", 2, "3.9", "3.9", 0),
        ("share.version", 2, "4.3", "4.3", 1),
        ("kraft.version", 1, "3.8", "3.8", 0),
        ("kraft.version", 1, "3.9", "3.9", 1),
        ("of.the.future", 7, "4.4", "4.4", 0),
    ],
)
def test_a_target_keeps_what_its_release_runs(feature, level, to, release, kept):
    found, loss = kept_level(feature, level, MetadataVersion.parse(to), Release.parse(release))
    assert found == kept
    assert (loss is None) == (kept == level)


def test_what_is_told_of_a_feature_that_is_lowered():
    assert target_of("group.version", 1, 30, "4.3.1") == FeatureAnswer(1)
    assert target_of("share.version", 2, 30, "4.3.1") == FeatureAnswer(
        1,
        "feature_lowered",
        "feature share.version",
        '{"feature":"share.version"}',
        "FeatureLevelRecord",
        "share.version 2 is lowered to 1: release 4.3.1 supports 0-1",
    )
