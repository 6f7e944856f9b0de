"""Groups of consumers that read and commit in the background, and which of their commits were acked."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import confluent_kafka as ck
from group_consumers import GroupConsumer, new_consumer
from java_client import JavaPrograms
from kafka_client import NotConnectedError, RefusedError

TOPIC, PARTITIONS = "orders", 6
MEMBERS = 3
# What commits end with while coordinators move: perhaps done, perhaps not.
_NOT_ACKED = (ck.KafkaException, RefusedError, NotConnectedError)
_PAUSE_S = 0.02
_PATIENCE_S = 120


@dataclass(slots=True)
class _Member:
    """A consumer, and its position in the partitions that it has read since its last commit."""

    consumer: GroupConsumer
    read: dict[int, int] = field(default_factory=dict)


class CommittingGroup:
    """Three consumers of one library in one thread, which commit after each poll.

    `acked`: by partition the last offset that a member's commit was acked for.
    `problems`: committed records that came again, skipped records, and errors of polls.
    """

    def __init__(self, servers: str, name: str, library: str, programs: JavaPrograms) -> None:
        self.name = name
        self.library = library
        self.acked: dict[int, int] = {}
        self.problems: list[str] = []
        self._where = (servers, name, TOPIC, programs)
        self._members: list[_Member] = []
        self._read: dict[int, int] = dict.fromkeys(range(PARTITIONS), 0)
        # Partitions of which the last commit was not acked.
        self._unsure: set[int] = set()
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name)

    def start(self, protocol: str) -> None:
        """Start with three members."""
        self._members = [self._joined(protocol) for _ in range(MEMBERS)]
        self._thread.start()

    def replace_one(self, protocol: str) -> None:
        """Replace the oldest member by one of this protocol: a consumer configured anew."""
        with self._lock:
            self._members.pop(0).consumer.close()
            self._members.append(self._joined(protocol))

    def await_progress(self) -> None:
        """Return when new commits of every partition have been acked. Raises AssertionError."""
        before = dict(self.acked)
        deadline = time.monotonic() + _PATIENCE_S
        while not all(self.acked.get(number, 0) > before.get(number, 0) for number in range(PARTITIONS)):
            assert self.problems == []
            assert time.monotonic() < deadline, f"{self.name} is stuck: {before}, then {self.acked}, {self._shares()}"
            time.sleep(_PAUSE_S)
        assert self.problems == []

    @contextmanager
    def settled(self) -> Iterator[Mapping[int, int]]:
        """Suspend commits while the block runs, with the last one of each partition acked; yield the offsets."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            with self._lock:
                if not self._unsure:
                    yield dict(self.acked)
                    return
            assert time.monotonic() < deadline, f"{self.name}: {self._unsure} are not acked"
            time.sleep(_PAUSE_S)

    def end(self) -> None:
        """Let all members leave."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        while self._members:
            self._members.pop().consumer.close()

    def _joined(self, protocol: str) -> _Member:
        suffix = "-consumer" if protocol == "consumer" else ""
        return _Member(new_consumer(f"{self.library}{suffix}", *self._where))

    def _run(self) -> None:
        try:
            while not self._is_over.wait(_PAUSE_S):
                with self._lock:
                    for member in self._members:
                        self._poll(member)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test has to hear of it
            self.problems.append(f"{self.name}: {type(error).__name__}: {error}")

    def _poll(self, member: _Member) -> None:
        found = member.consumer.poll()
        owned = member.consumer.assignment()
        for partition, offset, _ in found:
            if partition in owned:
                self._take(member, partition, offset)
        # What was another's meanwhile is no longer for this one to commit.
        member.read = {partition: offset for partition, offset in member.read.items() if partition in owned}
        if member.read:
            self._commit(member)

    def _take(self, member: _Member, partition: int, offset: int) -> None:
        if offset < self.acked.get(partition, 0):
            self.problems.append(f"{self.name}-{partition}: {offset} again after {self.acked[partition]} was acked")
        if offset > self._read[partition]:
            self.problems.append(f"{self.name}-{partition}: {offset} came after {self._read[partition] - 1}")
        self._read[partition] = max(self._read[partition], offset + 1)
        member.read[partition] = offset + 1

    def _commit(self, member: _Member) -> None:
        self._unsure |= member.read.keys()
        try:
            member.consumer.commit_offsets(member.read)
        except _NOT_ACKED:
            return
        self.acked |= member.read
        self._unsure -= member.read.keys()
        member.read.clear()

    def _shares(self) -> list[list[int]]:
        return [sorted(member.consumer.assignment()) for member in self._members]


@contextmanager
def committing_groups(
    servers: str, libraries: Sequence[str], protocol: str, programs: JavaPrograms
) -> Iterator[list[CommittingGroup]]:
    """A group for each library, named after it; they commit while the block runs. At most one library is Java's."""
    groups = [CommittingGroup(servers, f"group-of-{library}", library, programs) for library in libraries]
    try:
        for group in groups:
            group.start(protocol)
        yield groups
    finally:
        for group in groups:
            group.end()


@contextmanager
def steady_orders(servers: str) -> Iterator[None]:
    """Produce to every partition of TOPIC while the block runs; all records are written at the end."""
    producer = ck.Producer({"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True, "log_level": 0})
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(_PAUSE_S):
            for partition in range(PARTITIONS):
                producer.produce(TOPIC, b"order", partition=partition)
            producer.poll(0)

    thread = threading.Thread(target=run, name=TOPIC)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        producer.flush(_PATIENCE_S)
