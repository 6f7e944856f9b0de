"""What a tool takes for a metadata.version. Its answers are compared with Kafka's in test_version_questions."""

import pytest

from falkirk.cli.failure import CommandFailedError
from falkirk.cli.kafka_tool import Tool, kafka_tool
from falkirk.cli.version_mapping import version_mapping


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
    mapping = version_mapping(kafka_tool(Tool.FEATURES, release, "version-mapping"), asked)
    assert mapping.metadata_version.level == level
    assert mapping.asked == (asked or "4.0-IV3")


@pytest.mark.parametrize("asked", ["4.1", "25", "", "3.3-IV2", "3.0", "v4.0", " 4.0", "4.0-iv1", "4"])
def test_what_the_release_does_not_know_is_refused(asked: str) -> None:
    with pytest.raises(CommandFailedError, match="Unknown release version"):
        version_mapping(kafka_tool(Tool.FEATURES, "4.0", "version-mapping"), asked)
