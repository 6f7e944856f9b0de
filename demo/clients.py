"""The demo's clients: librdkafka and kafka-python, which produce and consume while the cluster changes."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeAlias

import confluent_kafka as ck
import kafka

PARTITIONS = 3
_BATCH = 12
_PAUSE_S = 0.02
_POLL_S = 0.05
# How long a client may take for what it was asked, while nodes stop and start on a busy machine.
_PATIENCE_S = 90
# How long one may take to end when nobody needs it any more.
_CLOSE_S = 5
# kafka-python tells of each connection that it loses.
logging.getLogger("kafka").addHandler(logging.NullHandler())

# Partition and offset.
Place: TypeAlias = tuple[int, int]


class LoadError(Exception):
    """A client got an error, or waited too long."""


class Client(Protocol):
    """A producer and a consumer of one library."""

    def produce(self, topic: str, values: list[tuple[int, bytes]]) -> list[int]:
        """Produce values to partitions with acks=all; return their offsets."""
        ...

    def read(self, topic: str) -> None:
        """Read all partitions of a topic from the beginning, and nothing else."""
        ...

    def poll(self) -> list[tuple[Place, bytes]]:
        """Return what has arrived since the last call."""
        ...

    def give_up(self) -> None:
        """Fail the records that still wait for their ack. Callable from any thread."""
        ...

    def close(self) -> None:
        """Close the client. Only from the thread that reads."""
        ...


class Librdkafka:
    """librdkafka through confluent-kafka."""

    name = "librdkafka"

    def __init__(self, servers: str) -> None:
        common = {"bootstrap.servers": servers, "log_level": 0}
        more = {"acks": "all", "enable.idempotence": True, "message.timeout.ms": _PATIENCE_S * 1000, "linger.ms": 5}
        self._producer = ck.Producer(common | more)
        # The library wants a group's name, though the group is never joined.
        more = {"group.id": "not-used", "enable.auto.commit": False, "auto.offset.reset": "error"}
        self._consumer = ck.Consumer(common | more)

    def produce(self, topic: str, values: list[tuple[int, bytes]]) -> list[int]:
        offsets: dict[bytes, int] = {}
        errors: list[str] = []

        def delivered(error: ck.KafkaError | None, message: ck.Message) -> None:
            if error is not None:
                errors.append(error.str())
            else:
                offsets[message.value()] = message.offset()

        for partition, value in values:
            self._producer.produce(topic, value, partition=partition, on_delivery=delivered)
        self._producer.flush(_PATIENCE_S)
        if errors or len(offsets) < len(values):
            raise LoadError(errors[0] if errors else f"{len(values) - len(offsets)} records were not acked in time")
        return [offsets[value] for _, value in values]

    def read(self, topic: str) -> None:
        self._consumer.assign([ck.TopicPartition(topic, number, 0) for number in range(PARTITIONS)])

    def poll(self) -> list[tuple[Place, bytes]]:
        messages = self._consumer.consume(500, timeout=_POLL_S)
        # Errors that the library does not get over itself are told in place of a message.
        fatal = [error for message in messages if (error := message.error()) is not None and not error.retriable()]
        if fatal:
            raise LoadError(fatal[0].str())
        return [((each.partition(), each.offset()), each.value()) for each in messages if each.error() is None]

    def give_up(self) -> None:
        self._producer.purge()

    def close(self) -> None:
        self._consumer.close()


class KafkaPython:
    """kafka-python."""

    name = "kafka-python"

    def __init__(self, servers: str) -> None:
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=servers.split(","), acks="all", enable_idempotence=True, linger_ms=5
        )
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=servers.split(","), group_id=None, enable_auto_commit=False, auto_offset_reset="none"
        )

    def produce(self, topic: str, values: list[tuple[int, bytes]]) -> list[int]:
        sent = [self._producer.send(topic, value, partition=partition) for partition, value in values]
        return [each.get(_PATIENCE_S).offset for each in sent]

    def read(self, topic: str) -> None:
        places = [kafka.TopicPartition(topic, number) for number in range(PARTITIONS)]
        self._consumer.assign(places)
        for place in places:
            self._consumer.seek(place, 0)

    def poll(self) -> list[tuple[Place, bytes]]:
        polled = self._consumer.poll(timeout_ms=int(_POLL_S * 1000))
        return [((each.partition, each.offset), each.value) for found in polled.values() for each in found]

    def give_up(self) -> None:
        # It tells of what it had to give up, which is what is wanted.
        with suppress(kafka.errors.KafkaTimeoutError):
            self._producer.close(timeout=0)

    def close(self) -> None:
        self._consumer.close()


LIBRARIES: tuple[type[Librdkafka] | type[KafkaPython], ...] = (Librdkafka, KafkaPython)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The outcome of one client's records; `reader` is the other library, which re-read the topic at the end."""

    writer: str
    reader: str
    acked: int
    lost: int
    duplicated: int
    # Of the acked ones, as its own consumer read them while the cluster changed.
    read_meanwhile: int


class Load:
    """One client on a topic of its own, in a thread: it produces and reads back what it has produced."""

    def __init__(self, name: str, client: Client, topic: str) -> None:
        self.name = name
        self.topic = topic
        self.acked: dict[Place, bytes] = {}
        self.read: list[tuple[Place, bytes]] = []
        self.problem: str | None = None
        self._client = client
        self._sent = 0
        self._is_over = threading.Event()
        self._is_abandoned = threading.Event()
        # A daemon: nobody waits for it when the demo is interrupted.
        self._thread = threading.Thread(target=self._run, name=topic, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._client.read(self.topic)
        self._thread.start()

    def end(self) -> None:
        """Stop producing, read the rest, and end."""
        self._is_over.set()
        self._thread.join(2 * _PATIENCE_S)

    def close(self) -> None:
        """End at once, and close the client."""
        self._is_abandoned.set()
        self._is_over.set()
        self._client.give_up()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            self._client.close()

    def count(self, reader_name: str, reader: Client) -> Count:
        """Let another client read the topic from the beginning. Raises LoadError if it does not reach the end."""
        reader.read(self.topic)
        found: list[tuple[Place, bytes]] = []

        def has_all() -> bool:
            found.extend(reader.poll())
            return len(found) >= len(self.acked)

        _until(has_all, f"{reader_name} has read {self.topic} again")
        found += reader.poll()
        stored = dict(found)
        values = [value for _, value in found]
        return Count(
            writer=self.name,
            reader=reader_name,
            acked=len(self.acked),
            lost=sum(stored.get(place) != value for place, value in self.acked.items()),
            duplicated=len(values) - len(set(values)),
            read_meanwhile=sum(self.acked.get(place) == value for place, value in dict(self.read).items()),
        )

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._produce()
                self.read += self._client.poll()
                time.sleep(_PAUSE_S)
            _until(self._has_read_all, f"{self.name} has read the rest")
        except Exception as error:  # noqa: BLE001 - whatever it is, the demo has to tell of it
            self.problem = f"{self.name}: {type(error).__name__}: {error}"

    def _produce(self) -> None:
        values = [(number % PARTITIONS, b"%d of %s" % (number, self.topic.encode())) for number in self._next()]
        for (partition, value), offset in zip(values, self._client.produce(self.topic, values), strict=True):
            self.acked[partition, offset] = value

    def _next(self) -> range:
        start, self._sent = self._sent, self._sent + _BATCH
        return range(start, self._sent)

    def _has_read_all(self) -> bool:
        self.read += self._client.poll()
        return len(self.read) >= len(self.acked) or self._is_abandoned.is_set()


class Loads:
    """All clients. A `with` block: at its end none of them runs."""

    def __init__(self, servers: str) -> None:
        self._clients = {library.name: library(servers) for library in LIBRARIES}
        self.loads = [Load(name, client, f"of-{name}") for name, client in self._clients.items()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all at once."""
        for load in self.loads:
            load.close()
        self.loads = []

    def start(self) -> None:
        """Start all."""
        for load in self.loads:
            load.start()

    def check(self) -> None:
        """Raise LoadError if a client had a problem."""
        for load in self.loads:
            if load.problem is not None:
                raise LoadError(load.problem)

    def summary(self) -> str:
        """Return the progress of all."""
        return ", ".join(f"{load.name} {len(load.acked):,} acked, {len(load.read):,} read" for load in self.loads)

    def await_progress(self, count: int = 200) -> None:
        """Return when each has had `count` more records acked, and read. Raises LoadError."""
        marks = [(load, len(load.acked) + count, len(load.read) + count) for load in self.loads]

        def has_gone_on() -> bool:
            self.check()
            return all(len(load.acked) >= acked and len(load.read) >= read for load, acked, read in marks)

        _until(has_gone_on, "all clients have gone on", pause_s=_POLL_S)

    def counted(self) -> list[Count]:
        """End all; each library re-reads what another has produced. Raises LoadError."""
        for load in self.loads:
            load.end()
        self.check()
        readers = [self.loads[place - 1].name for place in range(len(self.loads))]
        return [load.count(reader, self._clients[reader]) for load, reader in zip(self.loads, readers, strict=True)]


def _until(is_so: Callable[[], bool], what: str, *, pause_s: float = 0) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise LoadError(f"waited {_PATIENCE_S} s in vain until {what}")
        time.sleep(pause_s)
