"""The levels that a command line of `falkirk features` asks for."""

import pytest

from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.features.updates import UpdateOptions, requested_updates
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.errors import VersionsError
from falkirk.versions.release import Release

NEWEST = Release.parse("4.4")


def levels(*features: str) -> dict[str, int]:
    updates = requested_updates(NEWEST, UpdateOptions(features=features), UpgradeType.UPGRADE)
    return {name: update.max_version_level for name, update in updates.items()}


def test_the_level_of_metadata_version_may_be_its_name():
    """KIP-778: `kafka-features.sh upgrade --feature metadata.version=3.3-IV3`."""
    assert levels("metadata.version=3.3-IV3", "group.version=1") == {"metadata.version": 7, "group.version": 1}
    assert levels(" metadata.version = 4.0-IV1 ") == levels("metadata.version=23")


def test_a_name_that_nobody_knows_and_a_name_for_another_feature_are_refused():
    with pytest.raises(VersionsError, match=r"9\.9-IV0"):
        levels("metadata.version=9.9-IV0")
    with pytest.raises(CommandFailedError, match=r"'group\.version=4\.0-IV0' is not FEATURE=LEVEL"):
        levels("group.version=4.0-IV0")
