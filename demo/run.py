"""The demo, `make demo`: a running cluster goes from 4.3 to 3.9 under real clients, and nothing is lost unsaid.

Every command is the installed program itself, printed as an operator would type it; each must end with the exit status
that is written beside it here. Nodes are processes of their own, and none outlives the demo, however it ends.
Then real Kafka 4.3.1 does the same, by `falkirk lift`. That and the tables need Java 17, real Kafka also Maven; what
cannot be played is left out with a message.
"""

import gzip
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import NoReturn

from confluent_kafka import KafkaException
from confluent_kafka import admin as ck_admin
from rich.markup import escape

import group
import real_kafka
from clients import LoadError
from falkirk.pipeline.errors import SparkUnavailableError
from falkirk.pipeline.spark.session import check_java
from nodes import ENDING_SIGNALS, FALKIRK, NodeError
from stage import BLOCKED, DONE, NODES, PATIENCE_S, POLL_S, WOULD_LOSE, DemoError, LeftOutError, Stage, Step
from watching import FILE as WATCH_FILE
from watching import Watching

HERE = Path(__file__).resolve().parent
# A stopped node of real Kafka 4.3.1, and lines of its request logger with old and new clients.
ARCHIVE = HERE / "data" / "cluster-4.3.1.tar.gz"
REQUESTS = HERE.parent / "tests" / "data" / "requests" / "log4j-4.3.1.log.gz"
# Where the report stays when the demo is over.
OUT = HERE.parent / "demo-out"
FROM, TO = "4.3", "3.9"
# Its name in the watch.
CLUSTER = "orders"
ORDERS = 400
# Spark runs for seconds: what Java's optimizing compiler takes is more than what it gives.
SPARK_OPTIONS = ("--spark-conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1")


def start(stage: Stage) -> None:
    cluster_id = stage.falkirk_quietly("storage", "random-uuid").strip()
    stage.say(cluster_id)
    for node in stage.cluster.nodes:
        options = ("--config", node.properties, "--cluster-id", cluster_id, "--release", FROM)
        stage.falkirk_quietly("storage", "format", *options)
    for node in stage.cluster.nodes:
        stage.start_node(node, FROM)
    stage.await_in_sync()
    stage.features("describe", status=DONE)


def share(stage: Stage) -> None:
    orders = ck_admin.NewTopic(group.TOPIC, group.PARTITIONS, NODES)
    for made in stage.admin.create_topics([orders]).values():
        made.result(PATIENCE_S)
    stage.await_in_sync()
    consumers = stage.open_group()
    consumers.order(ORDERS)
    for _ in range(group.MEMBERS):
        consumers.join(group.CONSUMER)
    consumers.await_all()
    stage.say(f"librdkafka, by KIP-848's protocol: {consumers.summary()}")
    stage.groups("describe", "--group", group.NAME, "--members", "--verbose", status=DONE)
    stage.features("downgrade", "--feature", "group.version=0", status=WOULD_LOSE)
    stage.say("\nThis protocol is not known below 4.0. Who uses it is named, and nothing has changed.")


def step_back(stage: Stage) -> None:
    consumers = stage.group
    assert consumers is not None
    before = dict(consumers.committed)
    stage.say("Each consumer is started again with [bold]group.protocol=classic[/], one after the other (KIP-915).")
    for _ in range(group.MEMBERS):
        consumers.replace_one(group.CLASSIC)
        consumers.await_all()
        stage.say(f"  {consumers.summary()}")
    if consumers.committed != before:
        raise DemoError(f"offsets were {before}, and are {consumers.committed}")
    stage.groups("list", "--type", "--state", status=DONE)
    stage.groups("check", "--to", TO, status=DONE)
    stage.say("\nThe last one to leave the new protocol took the group with it; its offsets are the same.")


def watch(stage: Stage) -> None:
    assert stage.watch is not None
    text = stage.watch.follow(CLUSTER, stage.cluster.bootstrap_servers)
    stage.say(f"[dim]$ cat {WATCH_FILE}[/]\n{escape(text)}")
    stage.show("falkirk", "watch", "--config", WATCH_FILE, "&")
    with stage.console.status("The watch reads the logs ..."):
        stage.watch.start()
        stage.watch.await_state(CLUSTER, TO, "open")
    stage.say(f"The page is at {stage.watch.address}, and says: the way to {TO} is open. It reads only.")


def cordon(stage: Stage) -> None:
    stage.say("One disk of each node is to be emptied: no new replica goes there. Below 4.3-IV0 nobody can say so.\n")
    for node in stage.cluster.nodes:
        setting = ("cordoned.log.dirs", node.disks[1])
        options = f"--entity-type brokers --entity-name {node.node_id} --alter --add-config {'='.join(setting)}"
        stage.show("kafka-configs.sh", "--bootstrap-server", stage.cluster.bootstrap_servers, options)
        entry = ck_admin.ConfigEntry(*setting, incremental_operation=ck_admin.AlterConfigOpType.SET)
        broker = ck_admin.ConfigResource(ck_admin.ResourceType.BROKER, str(node.node_id), incremental_configs=[entry])
        for changed in stage.admin.incremental_alter_configs([broker]).values():
            changed.result(PATIENCE_S)
    # Each broker tells the controller with its next heartbeat.
    deadline = time.monotonic() + PATIENCE_S
    while len(losses_of_going_down(stage)) < NODES:
        if time.monotonic() > deadline:
            raise DemoError("the controller was not told which disks are cordoned")
        time.sleep(POLL_S)
    stage.say("[dim](said by librdkafka's admin client: there is no Java here)[/]")
    assert stage.watch is not None
    stage.watch.await_state(CLUSTER, TO, "closed")
    stage.say(f"\nThe watch: {escape(stage.watch.last_event(CLUSTER, TO))}")
    stage.watch.picture("watch-orders.png", f"cluster?name={CLUSTER}", 3000)


def losses_of_going_down(stage: Stage) -> list[str]:
    told = stage.features_quietly("downgrade-all", "--release", TO, "--unsafe", "--dry-run", "--json")
    return [loss["detail"] for loss in json.loads(told)["losses"] or ()]


def ask(stage: Stage) -> None:
    stage.features("downgrade-all", "--release", TO, "--unsafe", "--dry-run", status=DONE)
    stage.losses = losses_of_going_down(stage)
    stage.say(f"The same for programs: {len(stage.losses)} losses. Nothing has changed, these were dry runs.")


def refuse(stage: Stage) -> None:
    stage.features("downgrade-all", "--release", TO, status=WOULD_LOSE)
    stage.say("\nStatus 3: it can be done, but something would be lost, and here is the list. Nothing has changed.")


def lower(stage: Stage) -> None:
    stage.features("downgrade-all", "--release", TO, "--unsafe", "--wait", status=DONE)
    stage.say("")
    stage.await_clients()


def roll(stage: Stage) -> None:
    for node in stage.cluster.nodes:
        stage.await_in_sync()
        stage.stop_node(node)
        # It was written when the directories were formatted, and 3.9 reads it at every start.
        checkpoint = f"{node.disks[0]}/bootstrap.checkpoint"
        stage.show("rm", checkpoint)
        (stage.folder / checkpoint).unlink()
        stage.start_node(node, TO)
        stage.await_in_sync()
        stage.await_clients()
    stage.features("describe", "--release", TO, status=DONE)
    stage.groups("describe", "--group", group.NAME, status=DONE)


def count(stage: Stage) -> None:
    stage.count_records()
    count_group(stage)
    stage.say("Of the metadata is gone what the ledger told beforehand:")
    for loss in stage.losses:
        stage.say(f"  {escape(loss)}")


def count_group(stage: Stage) -> None:
    consumers = stage.group
    assert consumers is not None
    consumers.check()
    consumers.close()
    served = group.served(consumers.servers)
    if served != consumers.committed:
        raise DemoError(f"offsets {served} are served, but {consumers.committed} were acked")
    stage.say(f"All {sum(served.values())} orders are committed, as the consumers were told; none of these came twice.")


def stop(stage: Stage) -> None:
    nodes = stage.cluster.nodes
    stage.show("kill", *(f"<node {node.node_id}>" for node in nodes))
    with stage.console.status("The nodes stop together ..."):
        stage.cluster.stop()
    homes = [node.home for node in nodes]
    stage.falkirk("logdir", "verify", *homes, "--release", TO, status=DONE)
    # Every controller has the undo bundle.
    bundles = sorted(stage.folder.glob("node-*/falkirk-undo/*.zip"))
    if len(bundles) != len(nodes):
        raise DemoError(f"of {len(nodes)} controllers {len(bundles)} have the undo bundle")
    name = str(bundles[0].relative_to(stage.folder))
    stage.falkirk("logdir", "undo", *homes, "--bundle", name, "--out", "back-at-4.3", status=DONE)


def fleet(stage: Stage) -> None:
    try:
        check_java()
    except SparkUnavailableError as error:
        raise LeftOutError(f"no tables and no report. {error}") from error
    shutil.unpack_archive(ARCHIVE, stage.folder)
    (stage.folder / "kafka-request.log").write_bytes(gzip.decompress(REQUESTS.read_bytes()))
    (stage.folder / "fleet.yaml").write_text(INVENTORY)
    stage.say(f"[dim]$ cat fleet.yaml[/]\n{escape(INVENTORY)}")
    stage.falkirk("fleet", "ingest", "fleet.yaml", *SPARK_OPTIONS, status=DONE)
    stage.falkirk("fleet", "report", "--to", TO, *SPARK_OPTIONS, status=BLOCKED)
    stage.say(
        "\nStatus 1: what would be lost is not all, some clients of the request log use APIs that 3.9 does not have."
    )
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(stage.folder / "fleet-report", OUT / "fleet-report")
    stage.say(f"\nOpen {(OUT / 'fleet-report' / 'report.html').relative_to(HERE.parent)} in a browser.")


def page(stage: Stage) -> None:
    watch = stage.watch
    assert watch is not None
    if not watch.address:
        raise LeftOutError("the watch was not started")
    with stage.console.status("Chromium takes pictures ..."):
        watch.picture("watch-board.png", "", 560)
        if watch.follows(real_kafka.CLUSTER):
            watch.picture("watch-kafka.png", f"cluster?name={real_kafka.CLUSTER}", 3000)
    OUT.mkdir(exist_ok=True)
    for picture in watch.pictures:
        copied = shutil.copy(picture, OUT)
        stage.say(f"A picture is {Path(copied).relative_to(HERE.parent)}.")
    if not watch.pictures:
        stage.say("[dim](no picture: Debian's package `chromium` is not installed)[/]")
    stage.say(f"The page is at {watch.address}")
    if sys.stdin.isatty() and sys.stdout.isatty():
        input("It is there until you press Enter. ")


INVENTORY = """\
clusters:
  - name: orders
    log_dirs: [node-1, node-2, node-3]
    watch_journal: watch.sqlite
  - name: kafka-4.3.1
    log_dirs: [cluster]
    request_logs: [kafka-request.log]
"""


STEPS = (
    Step("Three nodes as Kafka 4.3", start),
    Step("Real clients at work", Stage.start_clients),
    Step("A group of consumers by the new protocol", share),
    Step("The group goes back to the classic protocol, and keeps its offsets", step_back),
    Step("Can we still go back? A watch beside it", watch),
    Step("Something that only 4.3 has", cordon),
    Step("What would going to 3.9 cost?", ask),
    Step("SAFE is the default, and refuses", refuse),
    Step("--unsafe goes on, and keeps what is dropped", lower),
    Step("The nodes become 3.9, one after the other", roll),
    Step("Is everything there?", count),
    Step("The stopped cluster's directories, and the way back up", stop),
    Step("The same for a fleet: tables, and a report on going to 3.9", fleet),
)


LAST_STEPS = (Step("What the watch has seen", page),)


def play(folder: Path) -> None:
    """Play both parts. Raises what their steps raise."""
    clock = Clock(len(STEPS) + len(real_kafka.STEPS) + len(LAST_STEPS))
    with Watching(folder) as watching:
        with ExitStack() as stack:
            clock.play(STEPS, Stage(folder, stack, watch=watching))
        lifted = folder / "real-kafka"
        lifted.mkdir()
        with ExitStack() as stack:
            stage = Stage(lifted, stack, real_kafka.KafkaNode, watching)
            clock.play(real_kafka.STEPS, stage)
            clock.play(LAST_STEPS, stage)


class Clock:
    """Counts the steps, and the seconds since the demo began."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._number = 0
        self._began = time.monotonic()

    def play(self, steps: Iterable[Step], stage: Stage) -> None:
        """Play the steps of a part; one that cannot be played here ends the part with a message."""
        for step in steps:
            self._number += 1
            stage.console.rule(f"[bold]{self._number}/{self._steps} {step.title}")
            try:
                step.play(stage)
            except LeftOutError as reason:
                stage.say(f"[bold yellow]LEFT OUT[/]: {reason}")
                return
            stage.say(f"[dim]({time.monotonic() - self._began:.0f} s)[/]\n")


class Interruption:
    """Handles the signals that end the demo: it leaves through `finally` blocks, which nothing then interrupts."""

    # A shell's, once a signal has come.
    status: int | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> NoReturn:
        for each in ENDING_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        self.status = 128 + number
        sys.exit(self.status)


def main() -> int:
    if not shutil.which(str(FALKIRK)):
        print("falkirk is not installed beside this Python: run `make setup`", file=sys.stderr)
        return 1
    os.environ.setdefault("COLUMNS", "120")
    interruption = Interruption()
    for number in ENDING_SIGNALS:
        signal.signal(number, interruption)
    with tempfile.TemporaryDirectory(prefix="falkirk-demo-", ignore_cleanup_errors=True) as folder:
        try:
            play(Path(folder))
        except Exception as error:
            # The terminal's signal ends nodes and commands too, and clients then fail one way or another.
            if interruption.status is not None:
                return interruption.status
            if not isinstance(error, DemoError | NodeError | LoadError | KafkaException):
                raise
            print(f"The demo failed: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
