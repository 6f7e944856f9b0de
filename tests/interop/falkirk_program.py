"""Runs the installed `falkirk` as an operator does: exit status, JSON document, messages."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_cluster import KafkaCluster

# Installed beside the interpreter that runs this.
PROGRAM = Path(sys.executable).with_name("falkirk")
_TIMEOUT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Exit status and output of a command."""

    status: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """The output of --json."""
        document: dict[str, Any] = json.loads(self.stdout)
        return document


class FalkirkError(Exception):
    """A command that had to succeed did not; the message has its output."""


def falkirk(*arguments: str | Path) -> Ended:
    """Run a command to its end, whatever its exit status."""
    command = [str(PROGRAM), *(str(argument) for argument in arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
    )
    return Ended(status=done.returncode, stdout=done.stdout, stderr=done.stderr)


def log_dirs(cluster: KafkaCluster) -> list[Path]:
    """All log dirs of all nodes."""
    return [path for layout in cluster.layouts for path in layout.log_dirs]


def logdir(command: str, *arguments: str | Path) -> dict[str, Any]:  # Any: a JSON document
    """Run `falkirk logdir <command> ... --json` and return its document; raises FalkirkError unless it ends with 0."""
    ended = falkirk("logdir", command, *arguments, "--json")
    if ended.status != 0:
        raise FalkirkError(f"{command} ended with status {ended.status}:\n{ended.stderr}\n{ended.stdout[-4000:]}")
    return ended.document


def downgraded(
    source: KafkaCluster,
    release: str,
    out: Path,
    *,
    settings: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> tuple[KafkaCluster, dict[str, Any]]:  # Any: same
    """Take a stopped cluster to a release with `--unsafe` and further `options`; check the result with `verify`.

    Returns the cluster on the result, still stopped, and the ledger. The result is in `out / "result"`, the nodes' logs
    in `out / "run"`. Where the ledger names static voters, exactly these are configured; `settings` are for the target
    alone.
    """
    level = release.rpartition(".")[0]
    result = out / "result"
    words = ["--to", level, "--release", release, "--out", result, "--unsafe", *options]
    ledger = logdir("downgrade", *log_dirs(source), *words)
    logdir("verify", result, "--release", release)
    voters = ledger["controller_quorum_voters"]
    return source.moved_to(
        result,
        release,
        home=out / "run",
        dynamic=ledger["features"]["after"].get("kraft.version", 0) > 0,
        settings=dict(settings or {}) | ({} if voters is None else {"controller.quorum.voters": voters}),
    ), ledger
