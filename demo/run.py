"""The demo, `make demo`: a stopped cluster of real Kafka 4.3.1 is taken to 3.9, and real Kafka 3.9.1 serves it.

Every command is the installed program itself, printed as an operator would type it; each has to end with the exit
status that is written beside it here. The last two parts need Java 17, the first of them Maven too, and are left out,
with a word, without.
Later parts of the product add their steps to `STEPS`.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from falkirk.pipeline.errors import SparkUnavailableError
from falkirk.pipeline.session import check_java

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "interop"), str(HERE.parent / "tools")]

from kafka_answers import differences, facts  # noqa: E402 - same
from kafka_cluster import COMBINED, KafkaCluster, node_layouts  # noqa: E402 - same
from kafka_java import answers  # noqa: E402 - same

from fetch_kafka import FetchError, kafka_libs, required_program  # noqa: E402 - found by the line above

FALKIRK = Path(sys.executable).with_name("falkirk")
ARCHIVE = HERE / "data" / "cluster-4.3.1.tar.gz"
ANSWERS = HERE / "data" / "answers-4.3.1.json.gz"
# Lines of real Kafka 4.3.1's request logger, with old and new clients.
REQUESTS = HERE.parent / "tests" / "data" / "requests" / "log4j-4.3.1.log.gz"
# Where the report stays when the demo is over.
OUT = HERE.parent / "demo-out"
TARGET_RELEASE = "3.9.1"
# What is compared: what a client is told of topics and users, and a hash of every message.
SECTIONS = "topics,scram,messages"
# What the programs of the interop tests use as clients.
CLIENT_RELEASE = "4.3.1"
DONE, BLOCKED, WOULD_LOSE = 0, 1, 3


class DemoError(Exception):
    """A step did not end as it has to."""


class Stage:
    """The folder that the demo plays in, and the screen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.console = Console(highlight=False)

    def say(self, text: str) -> None:
        """Print a sentence of the story."""
        self.console.print(text)

    def falkirk(self, *words: str, status: int) -> None:
        """Type a command and let it speak for itself. Raises DemoError for another exit status."""
        self.console.print(f"\n[bold green]$ falkirk {' '.join(words)}[/]")
        ended = subprocess.run([FALKIRK, *words], cwd=self.folder, check=False).returncode
        self.console.print(f"[dim](exit status {ended})[/]")
        if ended != status:
            raise DemoError(f"falkirk {' '.join(words)}: exit status {ended}, not {status}")


@dataclass(frozen=True)
class Step:
    """One part of the demo: its title, and what happens."""

    title: str
    play: Callable[[Stage], None]


def look(stage: Stage) -> None:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(stage.folder, filter="data")
    stage.falkirk("logdir", "inspect", "cluster", status=DONE)


def plan(stage: Stage) -> None:
    stage.falkirk("logdir", "plan", "cluster", "--to", "3.9", status=WOULD_LOSE)
    stage.say("\nStatus 3 says that something would be lost. What cannot be done at all is blocked, with status 1:")
    stage.falkirk("logdir", "plan", "cluster", "--to", "4.4", status=BLOCKED)


def refuse(stage: Stage) -> None:
    stage.falkirk("logdir", "downgrade", "cluster", "--to", "3.9", "--out", "at-3.9", status=WOULD_LOSE)
    if (stage.folder / "at-3.9").exists():
        raise DemoError("a refused downgrade has written something")


def downgrade(stage: Stage) -> None:
    stage.falkirk("logdir", "downgrade", "cluster", "--to", "3.9", "--out", "at-3.9", "--unsafe", status=DONE)
    stage.falkirk("logdir", "verify", "at-3.9", status=DONE)


def undo(stage: Stage) -> None:
    bundle = "at-3.9/undo-bundle.zip"
    stage.falkirk("logdir", "undo", "at-3.9", "--bundle", bundle, "--out", "back-at-4.3", status=DONE)
    stage.falkirk("logdir", "diff", "cluster", "back-at-4.3", status=DONE)


def boot(stage: Stage) -> None:
    try:
        required_program("java", "the last part")
        required_program("javac", "the last part")
        for release in (TARGET_RELEASE, CLIENT_RELEASE):
            with stage.console.status(f"Looking for Kafka {release} (fetched by Maven the first time) ..."):
                kafka_libs(release)
    except FetchError as error:
        stage.say(f"[bold yellow]LEFT OUT[/]: real Kafka was not started, so nothing is proved by it here. {error}")
        return
    result = stage.folder / "at-3.9"
    before: dict[str, Any] = json.loads(gzip.decompress(ANSWERS.read_bytes()))  # Any: a JSON document
    home = stage.folder / "run"
    layouts = node_layouts(home, {1: COMBINED}, log_dirs=2)
    cluster = KafkaCluster("4.3.1", layouts, home=home).moved_to(result, TARGET_RELEASE, home=home / TARGET_RELEASE)
    with stage.console.status(f"Real Kafka {TARGET_RELEASE} starts on at-3.9 ..."), cluster.running():
        after = answers(cluster.bootstrap_servers, "--sections", SECTIONS, "--scram", cluster.scram_servers)
    found = [each for section in SECTIONS.split(",") for each in differences(before[section], after[section])]
    for difference in found:
        stage.say(f"  differs: {difference}")
    if found:
        raise DemoError(f"Kafka {TARGET_RELEASE} answers otherwise than Kafka 4.3.1 did")
    messages = sum(partition["read_uncommitted"]["count"] for partition in after["messages"].values())
    logins = sum(any(each["login"] for each in mechanisms.values()) for mechanisms in after["scram"].values())
    equal = sum(facts(after[section]) for section in SECTIONS.split(","))
    stage.say(
        f"Kafka {TARGET_RELEASE} serves it: {len(after['topics'])} topics, {len(after['scram'])} users "
        f"({logins} log in), {messages} messages in {len(after['messages'])} partitions, by hash. "
        f"All {equal} answers are those of Kafka 4.3.1."
    )


def fleet(stage: Stage) -> None:
    try:
        check_java()
    except SparkUnavailableError as error:
        stage.say(f"[bold yellow]LEFT OUT[/]: no tables and no report. {error}")
        return
    (stage.folder / "kafka-request.log").write_bytes(gzip.decompress(REQUESTS.read_bytes()))
    (stage.folder / "fleet.yaml").write_text(INVENTORY)
    stage.say(f"[dim]$ cat fleet.yaml[/]\n{escape(INVENTORY)}")
    stage.falkirk("fleet", "ingest", "fleet.yaml", status=DONE)
    stage.falkirk("fleet", "report", "--to", "3.9", status=BLOCKED)
    stage.say(
        "\nStatus 1: what would be lost is not all, some clients of the request log use APIs that 3.9 does not have."
    )
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(stage.folder / "fleet-report", OUT / "fleet-report")
    stage.say(f"\nOpen {(OUT / 'fleet-report' / 'report.html').relative_to(HERE.parent)} in a browser.")


INVENTORY = """\
clusters:
  - name: before
    log_dirs: [cluster]
    request_logs: [kafka-request.log]
  - name: after
    log_dirs: [at-3.9]
"""


STEPS = (
    Step("A stopped cluster of Kafka 4.3.1", look),
    Step("What would going to 3.9 cost?", plan),
    Step("SAFE is the default, and refuses", refuse),
    Step("--unsafe goes on, and keeps what is dropped", downgrade),
    Step("And back up again, with nothing missing", undo),
    Step("Does real Kafka 3.9.1 agree?", boot),
    Step("Both as a fleet: tables, and a report on going to 3.9", fleet),
)


def main() -> int:
    if not shutil.which(str(FALKIRK)):
        print("falkirk is not installed beside this Python: run `make setup`", file=sys.stderr)
        return 1
    os.environ.setdefault("COLUMNS", "120")
    with tempfile.TemporaryDirectory(prefix="falkirk-demo-") as folder:
        stage = Stage(Path(folder))
        for number, step in enumerate(STEPS, 1):
            stage.console.rule(f"[bold]{number}. {step.title}")
            try:
                step.play(stage)
            except DemoError as error:
                print(f"The demo failed: {error}", file=sys.stderr)
                return 1
            stage.say("")
    return 0


if __name__ == "__main__":
    sys.exit(main())
