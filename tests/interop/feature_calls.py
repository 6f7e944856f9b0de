"""Recorded calls of kafka-features to real brokers, and the same calls to other nodes."""

import gzip
import io
import json
import re
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from kafka_cluster import KafkaCluster

from falkirk.cli import main

ANSWERS = Path(__file__).resolve().parents[1] / "data" / "cli_answers" / "features_live.jsonl.gz"
CONTROLLER = "HOST:PORT"
# Offsets and ids of nodes are as the cluster has them.
_VARYING = ((re.compile(r"Epoch: \d+"), "Epoch: N"), (re.compile(r"(Local controller|broker|node) \d+"), r"\1 N"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureCall:
    """A call of the tool of release `tool` to a node of `release` in a named state, and its answer.

    `wrong_usage`: the tool refuses the command line; its message is not kept.
    """

    release: str
    tool: str
    state: str
    words: tuple[str, ...]
    status: int
    stdout: str
    stderr: str
    wrong_usage: bool

    @property
    def answer(self) -> tuple[int, str, str]:
        """Return what must be equal."""
        return self.status, masked(self.stdout), masked(self.stderr)

    def with_one_output(self) -> "FeatureCall":
        """Return the call with its stderr appended to its stdout."""
        return replace(self, stdout="\n".join(filter(None, (self.stdout, self.stderr))), stderr="")

    def arguments(self, cluster: KafkaCluster) -> list[str]:
        """Return the whole command line for a cluster."""
        layout = cluster.layouts[0]
        words = [f"127.0.0.1:{layout.controller_port}" if word == CONTROLLER else word for word in self.words]
        if any(word.startswith("--bootstrap") for word in words):
            return words
        return ["--bootstrap-server", cluster.bootstrap_servers, *words]


def recorded_calls(release: str, state: str) -> list[FeatureCall]:
    """Return the calls of one state in order."""
    with gzip.open(ANSWERS, "rt") as lines:
        calls = [FeatureCall(**(one := json.loads(line)) | {"words": tuple(one["words"])}) for line in lines]
    found = [call for call in calls if (call.release, call.state) == (release, state)]
    assert found, f"nothing was recorded of {release}, {state}"
    return found


def masked(text: str) -> str:
    """Return a text without what varies from cluster to cluster."""
    for pattern, mask in _VARYING:
        text = pattern.sub(mask, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def run_falkirk(words: Sequence[str]) -> tuple[int, str, str]:
    """Run `falkirk features` in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(["features", *words])
    assert isinstance(ended.value.code, int)
    return int(ended.value.code), masked(out.getvalue()), masked(err.getvalue())
