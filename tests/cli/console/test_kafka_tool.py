"""Which release's tools answer, and what is said if they cannot."""

import pytest

from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.console.kafka_tool import kafka_tool, mapping_tool
from falkirk.versions.errors import UnknownReleaseError
from falkirk.versions.release import all_releases


def test_the_tool_of_the_newest_release_answers_by_default() -> None:
    tool = mapping_tool(None, "version-mapping")
    assert (str(tool.release), tool.is_chosen) == ("4.4.0", False)


@pytest.mark.parametrize("release", [release.name for release in all_releases() if release.has_zookeeper])
def test_tools_before_4_0_map_no_versions(release: str) -> None:
    with pytest.raises(CommandFailedError, match=f"Kafka {release} has no version-mapping"):
        mapping_tool(release, "version-mapping")


@pytest.mark.parametrize("release", [release.name for release in all_releases() if not release.has_zookeeper])
def test_every_later_release_has_its_tools(release: str) -> None:
    assert mapping_tool(release, "version-mapping") == kafka_tool(release)


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(UnknownReleaseError):
        mapping_tool("5.0", "version-mapping")
