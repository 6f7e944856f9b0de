"""Which release's tool answers, and what is said if it cannot."""

import pytest

from falkirk.cli.failure import CommandFailedError
from falkirk.cli.kafka_tool import Tool, kafka_tool
from falkirk.versions.errors import UnknownReleaseError
from falkirk.versions.release import all_releases


def test_the_tool_of_the_newest_release_answers_by_default() -> None:
    tool = kafka_tool(Tool.STORAGE, None, "version-mapping")
    assert (str(tool.release), tool.is_chosen) == ("4.4.0", False)


@pytest.mark.parametrize("release", [release.name for release in all_releases() if release.has_zookeeper])
def test_tools_before_4_0_map_no_versions(release: str) -> None:
    with pytest.raises(CommandFailedError, match=f"the kafka-features of Kafka {release} has no version-mapping"):
        kafka_tool(Tool.FEATURES, release, "version-mapping")


@pytest.mark.parametrize("release", [release.name for release in all_releases() if not release.has_zookeeper])
def test_every_later_release_has_its_tools(release: str) -> None:
    for tool in Tool:
        assert kafka_tool(tool, release, "version-mapping").release.name == release


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(UnknownReleaseError):
        kafka_tool(Tool.FEATURES, "5.0", "version-mapping")
