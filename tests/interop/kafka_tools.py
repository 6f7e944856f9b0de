"""Kafka's command line tools, several in one JVM."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from kafka_java import CLIENT_RELEASE, run_program

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
ACLS = "org.apache.kafka.tools.AclCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
ELECT = "org.apache.kafka.tools.LeaderElectionCommand"
_DEADLINE_S = 30


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """Exit status and output of a tool."""

    command: tuple[str, ...]
    status: int
    output: str


def run_tools(*commands: Sequence[str], release: str = CLIENT_RELEASE, timeout_s: float = 180) -> list[ToolEnded]:
    """Run the tools one after the other, whether or not one fails."""
    reported = json.loads(run_program("Tools", [json.dumps(commands)], release=release, timeout_s=timeout_s))
    return [ToolEnded(tuple(one["command"]), one["status"], one["output"]) for one in reported]


def outputs(*commands: Sequence[str], release: str = CLIENT_RELEASE) -> list[str]:
    """The tools' outputs; each must succeed."""
    ended = run_tools(*commands, release=release)
    failed = [one for one in ended if one.status != 0 or "Exception" in one.output]
    assert failed == [], failed
    return [one.output for one in ended]


def await_output(command: Sequence[str], wanted: str) -> None:
    """Run a tool until its output has `wanted`: brokers learn of changes a moment later. Raises TimeoutError."""
    deadline = time.monotonic() + _DEADLINE_S
    while wanted not in (ended := run_tools(command)[0]).output:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {wanted!r} within {_DEADLINE_S} s: {ended}")
