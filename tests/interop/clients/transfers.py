"""Programs that move records from topic to topic exactly once, while they and their brokers are killed; the count."""

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import confluent_kafka as ck
from kafka_client import Access
from kafka_cluster import KafkaCluster
from kafka_java import jvm_command, program_jar
from kafka_node import BROKER, dies_with_parent
from librdkafka_client import LibrdkafkaClient
from socket_asker import SocketAsker
from transfer_program import SESSION_MS

from falkirk.protocol.messages import FindCoordinatorRequest, ListTransactionsRequest, MetadataRequest
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from fetch_kafka import streams_libs

PROGRAM = Path(__file__).with_name("transfer_program.py")
PARTITIONS = 3
OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
KILLED = ("client", "coordinator", "leader")
# How long after a kill all may take: a program's longest stall, and a busy machine.
SETTLE_S = 180
_TRANSACTION = 1


class Transfer:
    """One program, which is started again whenever it has ended. Its target is `<name>-out`, its source `source`."""

    def __init__(self, library: str, servers: str, source: str, folder: Path) -> None:
        self.name = f"transfer-{library}"
        self.target = f"{self.name}-out"
        self.starts = 0
        self._log = folder / f"{self.name}.txt"
        self._process: subprocess.Popen[bytes] | None = None
        kind, _, release = library.partition("-")
        if kind in {"java", "streams"}:
            arguments = ["--bootstrap", servers, "--source", source, "--target", self.target, "--name", self.name]
            more: list[Path] = []
            program = "Transfer"
            if kind == "java":
                arguments += ["--session", str(SESSION_MS)]
            else:
                more = sorted(streams_libs(release).glob("*.jar"))
                program = "StreamsTransfer"
                arguments += ["--state", str(folder / f"{self.name}-state")]
            jars = [program_jar(program, release, more=more), *more]
            command = jvm_command(release, program, arguments, heap_mb=96, log_level="warn", jars=jars)
        else:
            command = [sys.executable, str(PROGRAM), library, servers, source, self.target, self.name]
        self._command = [*dies_with_parent(), *command]

    def keep_running(self) -> None:
        """Start the program if it does not run."""
        if self._process is None or self._process.poll() is not None:
            self.starts += 1
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
                )

    def kill(self) -> None:
        """Kill the program."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def log_tail(self) -> str:
        """The end of what it printed."""
        return self._log.read_text(errors="replace")[-3000:] if self._log.exists() else ""


class Arrivals:
    """How often each number is committed in each topic; `read` goes on where it last ended."""

    def __init__(self, servers: str, topics: Sequence[str]) -> None:
        self.counts: dict[str, Counter[int]] = {topic: Counter() for topic in topics}
        self._consumer = ck.Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "count",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                # What was read and is gone must not be skipped.
                "auto.offset.reset": "error",
                "reconnect.backoff.max.ms": 500,
            }
        )
        self._consumer.assign([ck.TopicPartition(topic, number, 0) for topic in topics for number in range(PARTITIONS)])

    def read(self, patience_s: float = 0.3) -> None:
        """Read until nothing comes for a while. Raises KafkaException."""
        while records := self._consumer.consume(1000, patience_s):
            for record in records:
                if record.error() is None:
                    self.counts[record.topic()][int(record.value())] += 1
                elif record.error().code() in {ck.KafkaError._AUTO_OFFSET_RESET, ck.KafkaError.OFFSET_OUT_OF_RANGE}:
                    raise ck.KafkaException(record.error())

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()


class TransferRun:
    """All transfers of a cluster, beside a source that is filled meanwhile."""

    def __init__(self, cluster: KafkaCluster, libraries: Sequence[str], folder: Path) -> None:
        self._cluster = cluster
        self._servers = cluster.bootstrap_servers
        self.transfers = [Transfer(library, self._servers, "source", folder) for library in libraries]
        self._targets = [transfer.target for transfer in self.transfers]
        admin = LibrdkafkaClient(Access(servers=self._servers))
        for topic in ("source", *self._targets):
            admin.create_topic(topic, partitions=PARTITIONS, replication_factor=3)
        admin.close()
        self._producer = ck.Producer({"bootstrap.servers": self._servers, "enable.idempotence": True})
        self._arrivals = Arrivals(self._servers, self._targets)
        self._sent = 0

    def feed(self, count: int) -> None:
        """Write more numbers to the source; all are there when it returns."""
        for _ in range(count):
            self._producer.produce("source", str(self._sent).encode(), partition=self._sent % PARTITIONS)
            self._sent += 1
        assert self._producer.flush(60) == 0

    def run_for(self, seconds: float) -> None:
        """Let the programs run."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for transfer in self.transfers:
                transfer.keep_running()
            time.sleep(0.1)

    def kill(self, kind: str, chance: random.Random) -> str:
        """Kill a program, the coordinator of one, or a leader; return which.

        A broker is started again after a while.
        """
        transfer = chance.choice(self.transfers)
        if kind == "client":
            transfer.kill()
            return transfer.name
        is_coordinator = kind == "coordinator"
        node_id = self._coordinator(transfer.name) if is_coordinator else self._leader(transfer.target, chance)
        node = self._cluster.nodes[node_id]
        node.kill()
        self.run_for(chance.random() * 3)
        node.start()
        node.wait_started()
        return f"node {node_id}"

    def settle(self) -> None:
        """Wait until every number is in every target, and no transaction is open. Raises AssertionError.

        So it is raised for a number that is there twice.
        """
        wanted = Counter(range(self._sent))
        deadline = time.monotonic() + SETTLE_S
        while any(counts != wanted for counts in self._arrivals.counts.values()):
            assert time.monotonic() < deadline, self._differences(self._arrivals)
            assert not any(counts - wanted for counts in self._arrivals.counts.values()), self._differences(
                self._arrivals
            )
            self.run_for(0.1)
            self._arrivals.read()
        while left := open_transactions(self._cluster):
            assert time.monotonic() < deadline, left
            self.run_for(0.1)

    def finish(self) -> None:
        """Settle, end the programs, and read everything once more."""
        self.settle()
        self.stop()
        again = Arrivals(self._servers, self._targets)
        deadline = time.monotonic() + SETTLE_S
        while again.counts != self._arrivals.counts and time.monotonic() < deadline:
            again.read(1)
        again.close()
        assert again.counts == self._arrivals.counts, self._differences(again)
        assert open_transactions(self._cluster) == []

    def stop(self) -> None:
        """Kill all programs."""
        for transfer in self.transfers:
            transfer.kill()

    def _differences(self, arrivals: Arrivals) -> str:
        """Which numbers are missing or there twice, and what the transfers printed that have them."""
        lines = []
        for transfer in self.transfers:
            counts = arrivals.counts[transfer.target]
            missing = [number for number in range(self._sent) if not counts[number]]
            twice = [number for number, count in counts.items() if count > 1]
            if missing or twice:
                lines.append(f"{transfer.name}, started {transfer.starts} times: {len(missing)} are missing:")
                lines.append(f"{missing[:10]}; there twice: {twice[:10]}\n{transfer.log_tail()}")
        return "\n".join(lines)

    def _coordinator(self, name: str) -> int:
        request = FindCoordinatorRequest(name, _TRANSACTION)
        found: int = self._asked(lambda asker: asker.ask(request, 3).node_id)
        return found

    def _leader(self, topic: str, chance: random.Random) -> int:
        request = MetadataRequest([MetadataRequestTopic(name=topic)])
        number = chance.randrange(PARTITIONS)

        def leader(asker: SocketAsker) -> int:
            parts = {each.partition_index: each.leader_id for each in asker.ask(request, 9).topics[0].partitions}
            return parts.get(number, -1)

        return self._asked(leader)

    def _asked(self, question: Callable[[SocketAsker], int]) -> int:
        for _ in range(300):
            for node in self._cluster.nodes.values():
                asker = SocketAsker(node.layout.broker_port)
                try:
                    if (node_id := question(asker)) >= 0:
                        return node_id
                finally:
                    asker.close()
            time.sleep(0.1)
        raise AssertionError("no broker knows")


def open_transactions(cluster: KafkaCluster) -> list[str]:
    """Return the transactions that are open or wait for markers, as the brokers list them, and errors."""
    found = []
    for layout in cluster.layouts:
        if BROKER not in layout.roles:
            continue
        asker = SocketAsker(layout.broker_port)
        answer = asker.ask(ListTransactionsRequest(OPEN), 0)
        asker.close()
        found += [f"{each.transactional_id} {each.transaction_state}" for each in answer.transaction_states]
        found += [f"error {answer.error_code}"] if answer.error_code else []
    return found
