"""version-mapping and feature-dependencies answer as Kafka's own tools do.

`kafka_features.jsonl` holds what kafka-features answered against real brokers; `recorded.jsonl` what the tools of each
release from 4.0.0 on answered to many more calls (kafka-features 4.4.0: the tools jar of 4.3.1 with the other jars of
4.4.0, for no other was published). Of calls that the tools refuse, the exit status and what was printed before it is
kept; the words of the refusal are falkirk's own.
"""

import json
import shlex
from pathlib import Path

import pytest
from falkirk_command import Answer

from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.release_tables import parse_feature_level

ANSWERS = Path(__file__).parents[1] / "data" / "cli_answers"
FROM_BROKERS = [json.loads(line) for line in (ANSWERS / "kafka_features.jsonl").read_text().splitlines()]
RECORDED = [json.loads(line) for line in (ANSWERS / "recorded.jsonl").read_text().splitlines()]


def check(answer: Answer, call: dict[str, object]) -> None:
    assert (answer.exit_code, answer.stdout.rstrip("\n")) == (call["rc"], call["stdout"])
    assert len(answer.stderr.splitlines()) == (0 if call["rc"] == 0 else 1)


@pytest.mark.parametrize("call", FROM_BROKERS, ids=lambda call: f"{call['release']} {call['command']}")
def test_falkirk_answers_as_kafka_features_did_against_real_brokers(call: dict[str, object], falkirk) -> None:
    tool, *arguments = shlex.split(str(call["command"]))
    assert tool == "FeatureCommand"
    check(falkirk("features", *arguments[:1], "--release", str(call["release"]), *arguments[1:]), call)


@pytest.mark.parametrize("call", RECORDED, ids=lambda call: f"{call['tool']} {' '.join(call['arguments'])}")
def test_falkirk_answers_as_the_tool_of_each_release(call: dict[str, object], falkirk) -> None:
    command, *arguments = call["arguments"]
    for release in call["releases"]:
        check(falkirk(call["tool"], command, "--release", release, *arguments), call)


def test_the_recorded_answers_cover_every_release_with_the_commands_and_both_tools() -> None:
    covered = {(call["tool"], release) for call in RECORDED for release in call["releases"]}
    releases = ("4.0.0", "4.1.1", "4.2.1", "4.3.1", "4.4.0")
    assert covered == {(tool, release) for tool in ("features", "storage") for release in releases}


@pytest.mark.parametrize("tool", ["features", "storage"])
@pytest.mark.parametrize("command", ["version-mapping", "feature-dependencies"])
def test_without_a_release_wrong_usage_exits_with_2(tool: str, command: str, falkirk) -> None:
    answer = falkirk(tool, command, "surplus")
    assert answer.exit_code == 2
    assert answer.stdout == ""
    assert answer.stderr == "unexpected argument: surplus\n"
    assert falkirk(tool, command, "--release", "4.3", "surplus").exit_code == 1


def test_the_newest_release_answers_unless_another_is_asked_for(falkirk) -> None:
    assert falkirk("storage", "version-mapping").stdout.startswith("metadata.version=33 (4.4-IV2)\n")
    assert falkirk("storage", "version-mapping", "--release", "4.1").stdout.startswith(
        "metadata.version=27 (4.1-IV1)\n"
    )


def test_a_mapping_as_json_is_one_document(falkirk) -> None:
    answer = falkirk("features", "version-mapping", "--release-version", "4.0", "--json")
    assert json.loads(answer.stdout) == {
        "release": "4.4.0",
        "metadata_version": {"level": 25, "name": "4.0-IV3"},
        "features": {
            "kraft.version": 1,
            "transaction.version": 2,
            "group.version": 1,
            "eligible.leader.replicas.version": 0,
            "share.version": 0,
            "streams.version": 0,
        },
    }


def test_dependencies_as_json_are_one_document_in_the_order_asked(falkirk) -> None:
    asked = ("--feature", "kraft.version=1", "--feature", "eligible.leader.replicas.version=1")
    answer = falkirk("storage", "feature-dependencies", *asked, "--json")
    assert json.loads(answer.stdout) == {
        "release": "4.4.0",
        "features": [
            {"feature": "kraft.version", "level": 1, "requires": {}},
            {"feature": "eligible.leader.replicas.version", "level": 1, "requires": {"metadata.version": 23}},
        ],
    }


def test_half_an_answer_is_text_only(falkirk) -> None:
    asked = ("--feature", "kraft.version=1", "--feature", "bogus=1")
    text = falkirk("features", "feature-dependencies", *asked)
    assert (text.exit_code, text.stdout) == (1, "kraft.version=1 has no dependencies.\n")
    json_answer = falkirk("features", "feature-dependencies", *asked, "--json")
    assert (json_answer.exit_code, json_answer.stdout, json_answer.stderr) == (
        1,
        "",
        "release 4.4.0 has no feature bogus\n",
    )


@pytest.mark.parametrize(("text", "level"), [("1", 1), ("+1", 1), ("01", 1), ("0", 0), ("-0", 0), (" 1 ", 1)])
def test_a_level_is_read_as_java_reads_a_short(text: str, level: int) -> None:
    assert parse_feature_level(f"kraft.version={text}") == ("kraft.version", level)


@pytest.mark.parametrize("text", ["", "x", "1.0", "1_0", "32768", "-32769", "1=2", "٣", "0x1", "--1"])
def test_a_level_that_is_no_short_is_refused(text: str) -> None:
    with pytest.raises(CommandFailedError, match=r"--feature: 'kraft\.version=.*' is not FEATURE=LEVEL"):
        parse_feature_level(f"kraft.version={text}")


def test_what_follows_the_first_failure_is_not_looked_up(falkirk) -> None:
    asked = ("--feature", "kraft.version=1", "--feature", "bogus=1", "--feature", "group.version=0")
    answer = falkirk("storage", "feature-dependencies", *asked)
    assert answer == (1, "kraft.version=1 has no dependencies.\n", "release 4.4.0 has no feature bogus\n")


@pytest.mark.parametrize("release", ["4.0", "4.1"])
def test_where_kafka_storage_ends_with_a_stack_trace_falkirk_says_what_is_wrong(release: str, falkirk) -> None:
    answer = falkirk("storage", "feature-dependencies", "--release", release, "--feature", "bogus")
    assert answer == (1, "", "--feature: 'bogus' is not FEATURE=LEVEL\n")
