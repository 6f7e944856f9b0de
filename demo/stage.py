"""The stage of the demo: a folder, a cluster, its clients, and the screen."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka import admin as ck_admin
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clients import PARTITIONS, Loads
from group import Group
from nodes import FALKIRK, Node, Nodes
from watching import Watching

NODES = 3
DONE, BLOCKED, WOULD_LOSE = 0, 1, 3
PATIENCE_S = 90
POLL_S = 0.2
_MORE_ORDERS = 40


class DemoError(Exception):
    """A step did not end as it must."""


class LeftOutError(Exception):
    """This machine lacks what the rest of a part needs; the message says what."""


class Stage:
    """The folder of the demo, the cluster, its clients, and the screen."""

    def __init__(self, folder: Path, stack: ExitStack, kind: type[Node] = Node, watch: Watching | None = None) -> None:
        self.folder = folder
        self.watch = watch
        self.console = Console(highlight=False)
        self.cluster = stack.enter_context(Nodes(folder, NODES, kind))
        self.admin = ck_admin.AdminClient({"bootstrap.servers": self.cluster.bootstrap_servers, "log_level": 0})
        self.loads: Loads | None = None
        self.group: Group | None = None
        # What the ledger listed before the change.
        self.losses: list[str] = []
        self._stack = stack

    def open_clients(self) -> Loads:
        """Make the clients; they end before the cluster does."""
        self.loads = self._stack.enter_context(Loads(self.cluster.bootstrap_servers))
        return self.loads

    def open_group(self) -> Group:
        """Make the group of consumers; it ends before the cluster does."""
        self.group = self._stack.enter_context(Group(self.cluster.bootstrap_servers))
        return self.group

    def at_end(self, end: Callable[[], object]) -> None:
        """Call a function when the part is over, however it ends."""
        self._stack.callback(end)

    def say(self, text: str) -> None:
        """Print a sentence of the story."""
        self.console.print(text)

    def show(self, *words: str) -> None:
        """Print a command as it would be typed."""
        self.console.print(f"[bold green]$ {escape(' '.join(words))}[/]", soft_wrap=True)

    def falkirk(self, *words: str, status: int) -> None:
        """Run a command and let it print. Raises DemoError for another exit status."""
        self.say("")
        self.show("falkirk", *words)
        ended = subprocess.run([FALKIRK, *words], cwd=self.folder, check=False).returncode
        self.say(f"[dim](exit status {ended})[/]")
        if ended != status:
            raise DemoError(f"falkirk {' '.join(words)}: exit status {ended}, not {status}")

    def falkirk_quietly(self, *words: str) -> str:
        """Print a command, run it and return its output instead of printing it. Raises DemoError if it fails."""
        self.show("falkirk", *words)
        ended = subprocess.run([FALKIRK, *words], cwd=self.folder, check=False, capture_output=True, text=True)
        if ended.returncode != DONE:
            raise DemoError(f"falkirk {' '.join(words)}: {ended.stderr}")
        return ended.stdout

    def features_quietly(self, *words: str) -> str:
        """Run a command of `falkirk features` as `falkirk_quietly` does."""
        return self.falkirk_quietly("features", "--bootstrap-server", self.cluster.bootstrap_servers, *words)

    def features(self, *words: str, status: int) -> None:
        """Run a command of `falkirk features` on the running cluster."""
        self.falkirk("features", "--bootstrap-server", self.cluster.bootstrap_servers, *words, status=status)

    def groups(self, command: str, *words: str, status: int) -> None:
        """Run a command of `falkirk groups` on the running cluster."""
        self.falkirk("groups", command, "--bootstrap-server", self.cluster.bootstrap_servers, *words, status=status)

    @contextmanager
    def waiting(self, text: str) -> Iterator[Callable[[Callable[[], bool]], None]]:
        """Show what is awaited, and the clients' progress; yield a function that waits until a condition holds."""
        deadline = time.monotonic() + PATIENCE_S
        with self.console.status(text) as status:

            def until(is_so: Callable[[], bool]) -> None:
                while not is_so():
                    self.cluster.check()
                    if self.loads is not None:
                        self.loads.check()
                        status.update(f"{text} [dim]({self.loads.summary()})[/]")
                    if time.monotonic() > deadline:
                        raise DemoError(f"waited {PATIENCE_S} s in vain: {text}")
                    time.sleep(POLL_S)

            yield until

    def start_clients(self) -> None:
        """Let clients produce to topics of their own and read them, from now on."""
        loads = self.open_clients()
        topics = [ck_admin.NewTopic(load.topic, PARTITIONS, NODES) for load in loads.loads]
        for made in self.admin.create_topics(topics).values():
            made.result(PATIENCE_S)
        self.await_in_sync()
        loads.start()
        self.say(
            "librdkafka and kafka-python produce with acks=all and read by offset, from now until all nodes are 3.9."
        )
        self.await_clients()

    def count_records(self) -> None:
        """End the clients and print what became of their records. Raises DemoError if one is lost or came twice."""
        assert self.loads is not None
        counts = self.loads.counted()
        self.loads.close()
        table = Table("produced by", "acked", "read meanwhile", "read again by", "lost", "twice")
        for each in counts:
            numbers = (each.acked, each.read_meanwhile, each.lost, each.duplicated)
            acked, meanwhile, lost, twice = (f"{number:,}" for number in numbers)
            table.add_row(each.writer, acked, meanwhile, each.reader, lost, twice)
        self.console.print(table)
        if any(each.lost or each.duplicated or each.read_meanwhile != each.acked for each in counts):
            raise DemoError("the clients' records are not as they were acked")
        self.say(f"All {sum(each.acked for each in counts):,} acked records are there, each of them once.")

    def stop_node(self, node: Node) -> None:
        """Stop a node as an operator does, and wait until it has ended. Raises NodeError."""
        self.show("kill", f"<node {node.node_id}>")
        node.request_stop()
        with self.waiting(f"Node {node.node_id} hands over and stops ...") as until:
            until(node.has_ended)
        node.await_end()

    def start_node(self, node: Node, release: str) -> None:
        """Start a node as a release."""
        self.show(*node.shown_command(release), f"2>> {node.home}/server.log &")
        node.start(release)

    def await_in_sync(self) -> None:
        """Wait until all brokers are there, and every replica is in sync."""
        with self.waiting("All replicas get in sync ...") as until:
            until(self._is_in_sync)

    def await_clients(self) -> None:
        """Wait until every client has made progress, and print it."""
        assert self.loads is not None
        self.loads.await_progress()
        self.say(f"  clients: {self.loads.summary()}")
        if self.group is not None:
            self.group.order(_MORE_ORDERS)
            self.group.await_all()
            self.say(f"  {self.group.summary()}")

    def _is_in_sync(self) -> bool:
        try:
            listed = self.admin.list_topics(timeout=5)
        except KafkaException:
            return False
        partitions = [each for topic in listed.topics.values() for each in topic.partitions.values()]
        return len(listed.brokers) == NODES and all(set(each.isrs) == set(each.replicas) for each in partitions)


@dataclass(frozen=True)
class Step:
    """One part of the demo: its title, and a function."""

    title: str
    play: Callable[[Stage], None]
