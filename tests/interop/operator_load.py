"""A load of what an operator's cluster has besides plain clients: transactions, groups of both kinds, metadata writes.

Everything is counted: what was acked and is lost, what is there twice, and for how long nothing went through.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import confluent_kafka as ck
from confluent_kafka import admin as ck_admin

LOAD = "operator-load"
PROTOCOLS = ("classic", "consumer")
_PARTITIONS = 3
_BATCH = 6
_WRITE_INTERVAL_S = 0.25
_TIMEOUT_S = 90
_POLL_S = 0.1
# A broker that has just started may know no other one yet; librdkafka keeps that for five minutes otherwise.
_REFRESH = {"topic.metadata.refresh.interval.ms": 5000}


class _Worker:
    """A thread that repeats one thing until its load ends. `problems`: errors that ended it."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self.problems: list[str] = []
        self._work = work
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name)
        self._thread.start()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._work()
        except Exception as error:  # noqa: BLE001 - whatever it is, the test has to hear of it
            self.problems.append(f"{self._thread.name}: {type(error).__name__}: {error}")


class Gap:
    """The longest time for which nothing went through, until something did."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._at_s = time.monotonic()

    def end(self) -> None:
        now_s = time.monotonic()
        self.longest_s = max(self.longest_s, now_s - self._at_s)
        self._at_s = now_s


class Transactions:
    """A producer whose transactions are committed one after the other; each value is produced in one of them."""

    def __init__(self, servers: str) -> None:
        self._config = _REFRESH | {
            "bootstrap.servers": servers,
            "transactional.id": LOAD,
            "transaction.timeout.ms": 60_000,
        }
        self.gap = Gap()
        self._producer: ck.Producer | None = None
        self._next = 0
        self.committed: list[int] = []
        # Neither committed nor aborted as far as the producer knows.
        self.undecided: set[int] = set()

    def work(self) -> None:
        """Commit one transaction; after an error the values are given up and the producer is made anew."""
        values = range(self._next, self._next + _BATCH)
        self._next += _BATCH
        is_ending = False
        try:
            if self._producer is None:
                self._producer = ck.Producer(self._config)
                self._producer.init_transactions(_TIMEOUT_S)
            self._producer.begin_transaction()
            for value in values:
                self._producer.produce(LOAD, str(value).encode(), partition=value % _PARTITIONS)
            is_ending = True
            self._producer.commit_transaction(_TIMEOUT_S)
        except ck.KafkaException:
            self._producer = None
            if is_ending:
                self.undecided.update(values)
        else:
            self.committed += values
            self.gap.end()
        time.sleep(_POLL_S)


class Member:
    """The only member of a group, of one protocol; where that is refused it goes on with the classic one."""

    def __init__(self, servers: str, protocol: str) -> None:
        self._config = _REFRESH | {
            "bootstrap.servers": servers,
            "group.id": f"{LOAD}-{protocol}",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            # What is fetched and not polled yet counts as consumed when the consumer closes, unless it is told.
            "enable.auto.offset.store": False,
        }
        self.protocol = protocol
        self._joins_by = protocol
        self._consumer = self._made()
        self._is_anew = False
        self.gap = Gap()
        self.seen: Counter[int] = Counter()
        self.errors: Counter[str] = Counter()

    def work(self) -> None:
        """Consume for a moment."""
        if self._is_anew:
            self._is_anew = False
            self._consumer.close()
            self._joins_by = self.protocol
            self._consumer = self._made()
        try:
            message = self._consumer.poll(_POLL_S)
            failure = None if message is None else message.error()
        except ck.KafkaException as error:
            message, failure = None, error.args[0]
        if failure is not None:
            self.errors[f"{failure.name()}: {failure.str()}"] += 1
        if failure is not None and failure.code() == ck.KafkaError._FATAL:
            self._joins_by = "classic"
            # It says good-bye by the request that is refused, as long as it takes.
            threading.Thread(target=self._consumer.close, daemon=True).start()
            self._consumer = self._made()
        elif message is not None and failure is None:
            self.seen[int(message.value())] += 1
            # The partition may be another member's by now.
            with suppress(ck.KafkaException):
                self._consumer.store_offsets(message)
            self.gap.end()

    def join_anew(self) -> None:
        """Let the member join by its own protocol again, which may have been refused meanwhile."""
        self._is_anew = True

    def close(self) -> None:
        with suppress(ck.KafkaException, RuntimeError):
            self._consumer.close()

    def _made(self) -> ck.Consumer:
        more: dict[str, object] = {"group.protocol": self._joins_by}
        if self._joins_by == "classic":
            more["session.timeout.ms"] = 6000
        consumer = ck.Consumer(self._config | more)
        consumer.subscribe([LOAD])
        return consumer


class MetadataWrites:
    """A topic's config is changed again and again."""

    def __init__(self, servers: str) -> None:
        self._admin = ck_admin.AdminClient(_REFRESH | {"bootstrap.servers": servers})
        self.acked = 0
        self.gap = Gap()
        self._next = 0

    def work(self) -> None:
        """Write once."""
        self._next += 1
        entry = ck_admin.ConfigEntry(
            "retention.ms", str(10**9 + self._next), incremental_operation=ck_admin.AlterConfigOpType.SET
        )
        resource = ck_admin.ConfigResource(ck_admin.ResourceType.TOPIC, LOAD, incremental_configs=[entry])
        with suppress(ck.KafkaException):
            self._admin.incremental_alter_configs([resource], request_timeout=_TIMEOUT_S)[resource].result()
            self.acked = self._next
            self.gap.end()
        time.sleep(_WRITE_INTERVAL_S)

    def is_kept(self) -> bool:
        """Return whether the last write that was acked, or a later one, is there."""
        resource = ck_admin.ConfigResource(ck_admin.ResourceType.TOPIC, LOAD)
        found = self._admin.describe_configs([resource], request_timeout=_TIMEOUT_S)[resource].result()
        return int(found["retention.ms"].value) - 10**9 >= self.acked


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What went through. `lost`, `doubled`: values of committed transactions; `gaps_s`: the longest, by part."""

    committed: int
    lost: int
    doubled: int
    metadata_writes: int
    gaps_s: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class OperatorLoad:
    """The parts of the load."""

    servers: str
    transactions: Transactions
    members: tuple[Member, ...]
    writes: MetadataWrites
    workers: list[_Worker] = field(default_factory=list)

    def check(self) -> Counted:
        """End producing and writing; everything that was committed is there once, and was read by every group."""
        producing, writing, *reading = self.workers
        producing.end()
        writing.end()
        committed = set(self.transactions.committed)
        assert len(committed) == len(self.transactions.committed) > 0
        there = _all(self.servers)
        parts = {"transactions": self.transactions, "metadata writes": self.writes}
        parts |= {f"{member.protocol} group": member for member in self.members}
        counted = Counted(
            committed=len(committed),
            lost=len(committed - there.keys()),
            doubled=sum(times > 1 for times in there.values()),
            metadata_writes=self.writes.acked,
            gaps_s={name: round(part.gap.longest_s, 1) for name, part in parts.items()},
        )
        assert (counted.lost, counted.doubled) == (0, 0), counted
        assert there.keys() - committed <= self.transactions.undecided
        assert counted.metadata_writes > 0
        assert self.writes.is_kept()
        self._await_readers(committed)
        for worker in reading:
            worker.end()
        self._check_workers()
        return counted

    def _await_readers(self, committed: set[int]) -> None:
        """Wait until each group has read all values."""
        deadline = time.monotonic() + _TIMEOUT_S
        while unread := {
            member.protocol: (sorted(missing), member.errors)
            for member in self.members
            if (missing := committed - member.seen.keys())
        }:
            self._check_workers()
            assert time.monotonic() < deadline, f"not read by each group: {unread}; {len(committed)} were committed"
            time.sleep(_POLL_S)

    def _check_workers(self) -> None:
        assert [problem for worker in self.workers for problem in worker.problems] == []


@contextmanager
def operator_load(
    servers: str, *, replication_factor: int, protocols: Sequence[str] = PROTOCOLS
) -> Iterator[OperatorLoad]:
    """Run the load while the block runs; `protocols`: of a consumer each."""
    admin = ck_admin.AdminClient({"bootstrap.servers": servers})
    topic = ck_admin.NewTopic(LOAD, _PARTITIONS, replication_factor)
    admin.create_topics([topic], request_timeout=_TIMEOUT_S)[LOAD].result()
    load = OperatorLoad(
        servers=servers,
        transactions=Transactions(servers),
        members=tuple(Member(servers, protocol) for protocol in protocols),
        writes=MetadataWrites(servers),
    )
    load.workers.append(_Worker("transactions", load.transactions.work))
    load.workers.append(_Worker("metadata writes", load.writes.work))
    load.workers.extend(_Worker("member", member.work) for member in load.members)
    try:
        yield load
    finally:
        for worker in load.workers:
            worker.end()
        for member in load.members:
            member.close()


def _all(servers: str) -> Counter[int]:
    """Return how often each committed value is in the topic."""
    consumer = ck.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([ck.TopicPartition(LOAD, number, ck.OFFSET_BEGINNING) for number in range(_PARTITIONS)])
    found: Counter[int] = Counter()
    ended: set[int] = set()
    deadline = time.monotonic() + _TIMEOUT_S
    while len(ended) < _PARTITIONS:
        assert time.monotonic() < deadline, f"read to the end of {ended} alone"
        message = consumer.poll(_POLL_S)
        if message is not None and message.error() is None:
            found[int(message.value())] += 1
        elif message is not None and message.error().code() == ck.KafkaError._PARTITION_EOF:
            ended.add(message.partition())
    consumer.close()
    return found
