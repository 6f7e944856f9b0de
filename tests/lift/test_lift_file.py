"""The file of a lift: what it says, and what is wrong with it in one line."""

from pathlib import Path

import pytest

from falkirk.lift.errors import LiftFileError
from falkirk.lift.lift_file import read_lift_file
from falkirk.protocol.endpoint import Endpoint

PLACE = "place: {node_id: 9001, listener: 'lift:9093', directory: controller}\n"
LEAST = "bootstrap_servers: [kafka-1:9092]\ntarget: '3.9'\n" + PLACE


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "lift.yaml"
    path.write_text(text)
    return path


def test_the_least_that_a_file_says_is_enough(tmp_path):
    read = read_lift_file(written(tmp_path, LEAST))
    assert read.brokers == (Endpoint("kafka-1", 9092),)
    assert read.controllers == ()
    assert str(read.parsed_target) == "3.9-IV0 (Kafka 3.9)"
    assert read.place.endpoint == Endpoint("lift", 9093)
    assert read.accept_losses == []


def test_a_file_may_place_falkirk_in_place_of_controllers_with_hooks(tmp_path):
    text = LEAST.replace(PLACE, "place: in-place\nhooks: {stop: ssh $LIFT_HOST systemctl stop kafka}\n")
    read = read_lift_file(written(tmp_path, text))
    assert read.extra_voter is None
    assert read.hooks.stop == "ssh $LIFT_HOST systemctl stop kafka"
    assert read.hooks.roll is None


def test_paths_are_relative_to_the_file(tmp_path):
    read = read_lift_file(written(tmp_path, LEAST + "command_config: client.properties\nstate: /elsewhere\n"))
    assert read.command_config == str(tmp_path / "client.properties")
    assert read.state == "/elsewhere"
    assert read.place.directory == str(tmp_path / "controller")
    assert read.controller_command_config is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bootstrap_servers: [", "while parsing"),
        ("[]", "Expected `object`, got `array`"),
        ("", "Expected `object`, got `null`"),
        (LEAST + "hook: {}\n", "Object contains unknown field `hook`"),
        (LEAST + "hooks: {begin: x}\n", "Object contains unknown field `begin` - at `$.hooks`"),
        (LEAST.replace(PLACE, "place: beside\n"), "Invalid enum value 'beside' - at `$.place`"),
        (LEAST.replace("9001", "-1"), "Expected `int` >= 0 - at `$.place.node_id`"),
        (LEAST.replace("[kafka-1:9092]", "[]"), "Expected `array` of length >= 1 - at `$.bootstrap_servers`"),
        (LEAST.replace("kafka-1:9092", "kafka-1"), "bootstrap_servers: 'kafka-1' is no server"),
        (LEAST.replace("lift:9093", "lift"), "place.listener: 'lift' is no server"),
        (LEAST.replace("'3.9'", "'3.2'"), "target: 3.2: 3.2-IV0 is below 3.7-IV0"),
        (LEAST.replace("'3.9'", "3.9"), "Expected `str`, got `float` - at `$.target`"),
        (LEAST.replace("directory:", "release: '5.9', directory:"), "place.release: unknown release '5.9'"),
        (
            LEAST.replace("directory:", "properties: {node.id: '4'}, directory:"),
            "place.properties: node.id is set by the lift itself",
        ),
        (LEAST + "limits: {step_s: 0}\n", "Expected `float` > 0.0 - at `$.limits.step_s`"),
        (LEAST + "limits: {lag: 0}\n", "Expected `int` >= 1 - at `$.limits.lag`"),
        (LEAST.replace("'3.9'", "2026-13-45"), "month must be in 1..12"),
        (LEAST.replace("9001", "9" * 5000), "Exceeds the limit"),
        ("[" * 2000, "maximum recursion depth exceeded"),
        (LEAST.replace("9093", "9" * 5000), "place.listener: 'lift:9999"),
        (LEAST.replace("lift:9093", "lift:9093,lift:9094"), "place.listener: lift:9093,lift:9094 is more than one"),
        ("a: " + "x" * (1 << 20), "more than 1048576 bytes"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_file_and_field(tmp_path, text, problem):
    path = written(tmp_path, text)
    with pytest.raises(LiftFileError) as refused:
        read_lift_file(path)
    assert str(refused.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LiftFileError, match=r"no\.yaml: No such file or directory"):
        read_lift_file(tmp_path / "no.yaml")
