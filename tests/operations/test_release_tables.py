"""What a release takes for a metadata.version, and for a level. The answers are compared with Kafka's in tests/cli."""

import pytest

from falkirk.operations.release_tables import version_mapping
from falkirk.versions.errors import UnknownMetadataVersionError
from falkirk.versions.release import Release


@pytest.mark.parametrize(
    ("release", "asked", "level"),
    [
        ("4.0", None, 25),
        ("4.0", "4.0", 25),
        ("4.0", "4.0.7", 25),
        ("4.0", "4.0-IV1.x", 23),
        ("4.0", "4.1-IV0", 26),
        ("4.4", "3.3", 7),
    ],
)
def test_a_metadata_version_or_release_is_found(release: str, asked: str | None, level: int) -> None:
    assert version_mapping(Release.parse(release), asked).metadata_version.level == level


@pytest.mark.parametrize("asked", ["4.1", "25", "", "3.3-IV2", "3.0", "v4.0", " 4.0", "4.0-iv1", "4"])
def test_what_the_release_does_not_know_is_refused(asked: str) -> None:
    with pytest.raises(UnknownMetadataVersionError, match=r"Kafka 4\.0\.0 knows no metadata\.version or release"):
        version_mapping(Release.parse("4.0"), asked)
