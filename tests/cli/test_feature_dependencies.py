"""How a feature's level is read. The answers are compared with Kafka's in test_version_questions."""

import pytest

from falkirk.cli.feature_dependencies import feature_dependencies
from falkirk.cli.kafka_tool import Tool, kafka_tool


@pytest.mark.parametrize(("text", "level"), [("1", 1), ("+1", 1), ("01", 1), ("0", 0), ("-0", 0), (" 1 ", 1)])
def test_a_level_is_read_as_java_reads_a_short(text: str, level: int) -> None:
    answer = feature_dependencies(kafka_tool(Tool.FEATURES, "4.4", "feature-dependencies"), [f"kraft.version={text}"])
    assert answer.failure is None
    assert [found.level for found in answer.found] == [level]


@pytest.mark.parametrize("text", ["", "x", "1.0", "1_0", "32768", "-32769", "1=2", "٣", "0x1", "--1"])
def test_a_level_that_is_no_short_is_refused(text: str) -> None:
    for tool, told in ((Tool.FEATURES, f"unable to parse {text} as a short"), (Tool.STORAGE, f"format: {text} for")):
        answer = feature_dependencies(kafka_tool(tool, "4.4", "feature-dependencies"), [f"kraft.version={text}"])
        assert answer.found == ()
        assert told in str(answer.failure)


def test_what_follows_the_first_failure_is_not_looked_up() -> None:
    tool = kafka_tool(Tool.STORAGE, "4.4", "feature-dependencies")
    answer = feature_dependencies(tool, ["kraft.version=1", "bogus=1", "kraft.version=9"])
    assert [found.feature for found in answer.found] == ["kraft.version"]
    assert str(answer.failure) == "Unknown feature: bogus"


@pytest.mark.parametrize("release", ["4.0", "4.1"])
def test_where_kafka_storage_ends_with_a_stack_trace_falkirk_says_what_is_wrong(release: str) -> None:
    answer = feature_dependencies(kafka_tool(Tool.STORAGE, release, "feature-dependencies"), ["bogus"])
    assert str(answer.failure) == (
        "Invalid feature format: bogus. Expected format: 'feature=version' (e.g. 'group.version=1')"
    )
