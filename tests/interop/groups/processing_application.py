"""An application of several workers that process a topic exactly once, and a count of what they have done."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import confluent_kafka.admin as ck_admin
from kafka_node import dies_with_parent
from processing_program import SOURCE, TARGET, transformed

PROGRAM = Path(__file__).with_name("processing_program.py")
PARTITIONS = 6
_PAUSE_S = 0.05
_PATIENCE_S = 120
_BATCH = 12


class ProcessingApplication:
    """Workers `0` to `workers - 1`, each started again when it ends, and a source that is filled all the time."""

    def __init__(self, servers: str, folder: Path, *, workers: int) -> None:
        self._servers, self._folder = servers, folder
        folder.mkdir()
        self.ask_of(servers)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._names = [str(number) for number in range(workers)]
        self._sent: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
        self._feeds = threading.Event()
        self._feeds.set()
        self._fed = threading.Lock()
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._keep_running, self._feed)]
        for thread in self._threads:
            thread.start()

    def ask_of(self, servers: str) -> None:
        """Set the brokers that the leader asks for the finalized levels."""
        new = self._folder / "ask.new"
        new.write_text(servers)
        new.rename(self._folder / "ask")

    def check(self) -> int:
        """Wait until all that was fed is processed: each number once, in its order. Returns how many there were."""
        self._feeds.clear()
        try:
            with self._fed:
                wanted = {
                    partition: [int(transformed(b"%d" % number)) for number in numbers]
                    for partition, numbers in self._sent.items()
                }
                self.wait_until(lambda: _sizes(self.processed()) >= _sizes(wanted))
                assert self.processed() == wanted
                return sum(map(len, wanted.values()))
        finally:
            self._feeds.set()

    def processed(self) -> dict[int, list[int]]:
        """Return what the target has, by partition."""
        return committed_numbers(self._servers, TARGET, PARTITIONS)

    def events(self, event: str) -> list[dict[str, Any]]:
        """Return what workers have told of one kind, each with the `worker`, in the order of each worker."""
        told: list[dict[str, Any]] = []
        for name in self._names:
            with suppress(FileNotFoundError):
                lines = (self._folder / f"{name}.jsonl").read_text().splitlines()
                told += [{"worker": name, **json.loads(line)} for line in lines]
        return [each for each in told if each["event"] == event]

    @property
    def generation(self) -> int:
        """The newest generation."""
        return max((each["generation"] for each in self.events("assigned")), default=0)

    def members(self) -> dict[str, dict[str, Any]]:
        """Return the assignments of the newest generation, by worker."""
        newest = self.generation
        return {each["worker"]: each for each in self.events("assigned") if each["generation"] == newest}

    @property
    def levels(self) -> list[int]:
        """The level of each member of the newest generation."""
        return [each["level"] for each in self.members().values()]

    @property
    def leader(self) -> str:
        """The worker that leads the newest generation."""
        [leader] = [name for name, each in self.members().items() if each["leads"]]
        return leader

    def settle(self, *, after: int = 0, workers: int | None = None) -> None:
        """Wait for a generation newer than `after` in which as many workers (default: all) have all partitions."""
        wanted = len(self._names) if workers is None else workers

        def is_settled() -> bool:
            members = self.members().values()
            owned = sorted(one for each in members for one in each["partitions"])
            return self.generation > after and len(members) == wanted and owned == list(range(PARTITIONS))

        self.wait_until(is_settled)

    def await_questions(self, server: str, count: int = 2) -> None:
        """Wait until a leader has asked a broker, that many times from now on."""

        def asked() -> int:
            return sum(each["leads"] and each["server"] == server for each in self.events("asked"))

        before = asked()
        self.wait_until(lambda: asked() >= before + count)

    def stop_within(self, worker: str, place: str) -> None:
        """Stop a worker within its next transaction: it goes on as a zombie when the test lets it."""
        before = len(self.events("stops"))
        (self._folder / f"{worker}.stop").write_text(place)
        self.wait_until(lambda: len(self.events("stops")) > before)

    def go_on(self, worker: str) -> dict[str, Any]:
        """Let a stopped worker go on until it has failed; return how."""
        before = len(self.events("failed"))
        os.kill(self._processes[worker].pid, signal.SIGCONT)
        self.wait_until(lambda: len(self.events("failed")) > before)
        return [each for each in self.events("failed") if each["worker"] == worker][-1]

    def kill(self, worker: str) -> None:
        """Kill a worker; a new one takes its place."""
        self._processes[worker].kill()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition. Raises AssertionError with what the workers told last."""
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, self.log_tail()
            time.sleep(_PAUSE_S)

    def log_tail(self) -> str:
        """The ends of what the workers told and printed."""
        files = sorted(self._folder.glob("*.jsonl")) + sorted(self._folder.glob("*.txt"))
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-1500:]}" for file in files)

    def close(self) -> None:
        """Kill all workers."""
        self._is_over.set()
        for process in self._processes.values():
            process.kill()
            process.wait()
        for thread in self._threads:
            thread.join()

    def _keep_running(self) -> None:
        # The kernel kills what a thread has started when that thread ends.
        while not self._is_over.is_set():
            for name in self._names:
                process = self._processes.get(name)
                if process is None or process.poll() is not None:
                    self._processes[name] = self._started(name)
            time.sleep(_PAUSE_S)
        for process in self._processes.values():
            process.kill()

    def _started(self, name: str) -> subprocess.Popen[bytes]:
        command = [*dies_with_parent(), sys.executable, str(PROGRAM), self._servers, str(self._folder), name]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with (self._folder / f"{name}.txt").open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment
            )

    def _feed(self) -> None:
        producer = ck.Producer({"bootstrap.servers": self._servers, "enable.idempotence": True, "log_level": 0})
        next_number = 0
        while not self._is_over.is_set():
            if not self._feeds.wait(_PAUSE_S):
                continue
            with self._fed:
                for _ in range(_BATCH):
                    partition = next_number % PARTITIONS
                    producer.produce(SOURCE, b"%d" % next_number, partition=partition)
                    self._sent[partition].append(next_number)
                    next_number += 1
                while producer.flush(1) and not self._is_over.is_set():
                    pass
            time.sleep(_PAUSE_S)


@contextmanager
def processing_application(
    servers: str, folder: Path, *, workers: int, replication_factor: int
) -> Iterator[ProcessingApplication]:
    """Make the topics and run the application while the block runs."""
    admin = ck_admin.AdminClient({"bootstrap.servers": servers, "log_level": 0})
    topics = [ck_admin.NewTopic(name, PARTITIONS, replication_factor) for name in (SOURCE, TARGET)]
    for done in admin.create_topics(topics, operation_timeout=30).values():
        done.result(30)
    application = ProcessingApplication(servers, folder, workers=workers)
    try:
        yield application
    finally:
        application.close()


def committed_numbers(servers: str, topic: str, partitions: int) -> dict[int, list[int]]:
    """Return everything committed in a topic, by partition, in order."""
    consumer = ck.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "count",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    try:
        consumer.assign([ck.TopicPartition(topic, number, 0) for number in range(partitions)])
        numbers: dict[int, list[int]] = {number: [] for number in range(partitions)}
        ended: set[int] = set()
        deadline = time.monotonic() + 30
        while len(ended) < partitions and time.monotonic() < deadline:
            for record in consumer.consume(500, 1):
                if record.error() is None:
                    numbers[record.partition()].append(int(record.value()))
                elif record.error().code() == ck.KafkaError._PARTITION_EOF:
                    ended.add(record.partition())
        return numbers
    finally:
        consumer.close()


def _sizes(numbers: dict[int, list[int]]) -> int:
    return sum(map(len, numbers.values()))
