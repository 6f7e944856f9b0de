"""Programs that move records from topic to topic exactly once, while they and their brokers are killed; the count."""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import confluent_kafka as ck
from kafka_cluster import KafkaCluster
from kafka_java import jvm_command, program_jar
from kafka_node import dies_with_parent
from socket_asker import SocketAsker

from falkirk.protocol.messages import FindCoordinatorRequest, ListTransactionsRequest, MetadataRequest
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from fetch_kafka import streams_libs

PROGRAM = Path(__file__).with_name("transfer_program.py")
PARTITIONS = 3
OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
KILLED = ("client", "coordinator", "leader")
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
            if kind == "streams":
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


class TransferRun:
    """All transfers of a cluster, beside a source that is filled meanwhile."""

    def __init__(self, cluster: KafkaCluster, libraries: Sequence[str], folder: Path, *, seed: int) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self._servers = cluster.bootstrap_servers
        self.transfers = [Transfer(library, self._servers, "source", folder) for library in libraries]
        self.kills: dict[str, int] = {}
        self._producer = ck.Producer({"bootstrap.servers": self._servers, "enable.idempotence": True})
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

    def kill_something(self) -> None:
        """Kill something of KILLED."""
        self.kill(self._random.choice(KILLED))

    def kill(self, kind: str) -> None:
        """Kill a program, the coordinator of one, or a leader; brokers are started again after a while."""
        transfer = self._random.choice(self.transfers)
        self.kills[kind] = self.kills.get(kind, 0) + 1
        if kind == "client":
            transfer.kill()
            return
        node_id = self._coordinator(transfer.name) if kind == "coordinator" else self._leader(transfer.target)
        node = self._cluster.nodes[node_id]
        node.kill()
        self.run_for(self._random.random() * 3)
        node.start()
        node.wait_started()

    def finish(self, timeout_s: float = 120) -> None:
        """Wait until every transfer has moved everything; each number is there once, and no transaction is open."""
        wanted = list(range(self._sent))
        deadline = time.monotonic() + timeout_s
        for transfer in self.transfers:
            while len(found := self._numbers(transfer.target)) < len(wanted) and time.monotonic() < deadline:
                self.run_for(1)
            assert found == wanted, self._difference(transfer, found)
        for transfer in self.transfers:
            transfer.kill()
        while (left := self._open_transactions()) and time.monotonic() < deadline:
            time.sleep(0.5)
        assert left == []

    def stop(self) -> None:
        """Kill all programs."""
        for transfer in self.transfers:
            transfer.kill()

    def _difference(self, transfer: Transfer, found: Sequence[int]) -> str:
        missing = sorted(set(range(self._sent)) - set(found))
        twice = sorted({number for number in found if found.count(number) > 1}) if len(found) < 20_000 else []
        counts = f"{len(missing)} are missing: {missing[:10]}; there twice: {twice[:10]}"
        return f"{transfer.name}, started {transfer.starts} times: {counts}\n{transfer.log_tail()}"

    def _numbers(self, topic: str) -> list[int]:
        """Everything committed in a topic, sorted."""
        consumer = ck.Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "count",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        try:
            consumer.assign([ck.TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
            numbers: list[int] = []
            ended: set[int] = set()
            deadline = time.monotonic() + 30
            while len(ended) < PARTITIONS and time.monotonic() < deadline:
                for record in consumer.consume(500, 1):
                    if record.error() is None:
                        numbers.append(int(record.value()))
                    elif record.error().code() == ck.KafkaError._PARTITION_EOF:
                        ended.add(record.partition())
            return sorted(numbers)
        finally:
            consumer.close()

    def _coordinator(self, name: str) -> int:
        request = FindCoordinatorRequest(name, _TRANSACTION)
        found: int = self._asked(lambda asker: asker.ask(request, 3).node_id)
        return found

    def _leader(self, topic: str) -> int:
        request = MetadataRequest([MetadataRequestTopic(name=topic)])
        number = self._random.randrange(PARTITIONS)

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

    def _open_transactions(self) -> list[str]:
        found = []
        for node in self._cluster.nodes.values():
            asker = SocketAsker(node.layout.broker_port)
            answer = asker.ask(ListTransactionsRequest(OPEN), 0)
            asker.close()
            found += [f"{each.transactional_id} {each.transaction_state}" for each in answer.transaction_states]
            found += [f"error {answer.error_code}"] if answer.error_code else []
        return found


def topics(transfers: Sequence[Transfer]) -> Mapping[str, int]:
    """The topics that transfers need, with their numbers of partitions."""
    return dict.fromkeys(["source", *(transfer.target for transfer in transfers)], PARTITIONS)
