"""Client libraries that produce and consume in the background, each in a thread of its own."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from client_factory import ClientFactory
from java_client import JavaPrograms
from kafka_client import EARLIEST, LATEST, Access, Client, Record

PARTITIONS = 3
LOAD_TOPICS = "load-of-"
_BATCH = 12
_PAUSE_S = 0.05
_POLL_S = 0.05
# How long a request may take while nodes stop and start on a busy machine.
_PATIENCE_S = 90


class ClientLoad:
    """One library on a topic of its own: it produces with acks=all and consumes what was acked from where it left off.

    `problems`: errors that it got, and acked records that it did not find.
    `longest_s`: the longest time in which nothing was acked, until something was.
    """

    def __init__(self, client: Client, topic: str) -> None:
        self.client = client
        self.topic = topic
        self.problems: list[str] = []
        self.longest_s = 0.0
        self._acked_at_s = time.monotonic()
        # Values by partition; the place of each is its offset, since an idempotent producer writes nothing twice.
        self.acked: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        self._read = [0] * PARTITIONS
        self._rounds = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=topic)

    def start(self) -> None:
        self._thread.start()

    def await_rounds(self, count: int = 2) -> None:
        """Return when this many rounds of producing and consuming have begun and ended, or there is a problem."""
        wanted = self._rounds + 1 + count
        deadline = time.monotonic() + 2 * _PATIENCE_S
        while self._rounds < wanted and not self.problems:
            assert time.monotonic() < deadline, f"{self.topic} is stuck in round {self._rounds}"
            time.sleep(_POLL_S)

    def end(self) -> None:
        """End after the current round."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def reads_back(self, reader: Client) -> bool:
        """True if `reader` finds exactly the acked records in the partitions."""
        for number, values in enumerate(self.acked):
            if (reader.offset(self.topic, number, EARLIEST), reader.offset(self.topic, number, LATEST)) != (
                0,
                len(values),
            ):
                return False
            if _values(reader, self.topic, number, 0, len(values)) != list(enumerate(values)):
                return False
        return True

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._round()
                self._is_over.wait(_PAUSE_S)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test has to hear of it
            self.problems.append(f"{self.topic}, round {self._rounds}: {type(error).__name__}: {error}")

    def _round(self) -> None:
        now_ms = int(time.time() * 1000)
        records = [
            Record(
                partition=number % PARTITIONS,
                value=b"%s %d %d" % (self.topic.encode(), self._rounds, number),
                timestamp_ms=now_ms,
            )
            for number in range(_BATCH)
        ]
        offsets = self.client.produce(self.topic, records)
        now_s = time.monotonic()
        self.longest_s, self._acked_at_s = max(self.longest_s, now_s - self._acked_at_s), now_s
        for record, offset in zip(records, offsets, strict=True):
            acked = self.acked[record.partition]
            if offset != len(acked):
                self.problems.append(f"{self.topic}-{record.partition}: {offset} was acked after {len(acked) - 1}")
            assert record.value is not None
            acked.append(record.value)
        number = self._rounds % PARTITIONS
        start, end = self._read[number], len(self.acked[number])
        found = _values(self.client, self.topic, number, start, end - start)
        if found != list(enumerate(self.acked[number]))[start:]:
            self.problems.append(f"{self.topic}-{number}: read {found} from offset {start} on")
        self._read[number] = end
        self._rounds += 1


def _values(client: Client, topic: str, number: int, start: int, count: int) -> list[tuple[int, bytes | None]]:
    return [(offset, record.value) for offset, record in client.consume(topic, number, start, count)]


class ClientLoads:
    """The loads of several libraries."""

    def __init__(self, loads: Sequence[ClientLoad]) -> None:
        self.loads = loads

    def await_rounds(self, count: int = 2) -> None:
        """Wait until every library has made progress without a problem. Raises AssertionError."""
        for load in self.loads:
            load.await_rounds(count)
        assert self.problems() == []

    def problems(self) -> list[str]:
        return [problem for load in self.loads for problem in load.problems]

    def end(self) -> None:
        for load in self.loads:
            load.end()

    def check(self) -> None:
        """End; every library reads back what its own producer, and then the next library's, had acked."""
        self.end()
        assert self.problems() == []
        for place, load in enumerate(self.loads):
            assert min(map(len, load.acked)) > 0
            for reader in (load, self.loads[place - 1]):
                assert load.reads_back(reader.client), f"{reader.topic} does not read {load.topic} as it was acked"

    def counted(self) -> dict[str, tuple[int, float]]:
        """For each topic how many records were acked, and the longest time in seconds in which none was."""
        return {load.topic: (sum(map(len, load.acked)), round(load.longest_s, 1)) for load in self.loads}


@contextmanager
def client_loads(
    libraries: Sequence[str], servers: str, folder: Path, *, replication_factor: int
) -> Iterator[ClientLoads]:
    """Create a topic for each library; they produce and consume while the block runs."""
    programs = JavaPrograms(folder)
    factory = ClientFactory(programs)
    made: list[ClientLoad] = []
    try:
        for library in libraries:
            client = factory.get(library, Access(servers=servers), patience_s=_PATIENCE_S)
            topic = f"{LOAD_TOPICS}{library}"
            client.create_topic(topic, partitions=PARTITIONS, replication_factor=replication_factor)
            made.append(ClientLoad(client, topic))
        loads = ClientLoads(made)
        for load in made:
            load.start()
        yield loads
    finally:
        for load in made:
            load.end()
        factory.close()
        programs.close()
