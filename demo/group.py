"""The demo's group of consumers: they share a topic, commit what they read, and change their protocol meanwhile."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from types import TracebackType
from typing import Self

import confluent_kafka as ck

from clients import LoadError

NAME, TOPIC, PARTITIONS, MEMBERS = "shop", "orders", 4, 2
CONSUMER, CLASSIC = "consumer", "classic"
_POLL_S = 0.1
_PATIENCE_S = 90
_CLOSE_S = 5


class Member:
    """One consumer, in a thread: it reads, and commits what it has read."""

    def __init__(self, group: "Group", protocol: str) -> None:
        self.protocol = protocol
        # As its own thread sees it: the library may stand still if another one asks.
        self.partition_count = 0
        self._group = group
        self._is_over = threading.Event()
        self._consumer = ck.Consumer(
            {
                "bootstrap.servers": group.servers,
                "group.id": NAME,
                "group.protocol": protocol,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        self._consumer.subscribe([TOPIC])
        # A daemon: nobody waits for it when the demo is interrupted.
        self._thread = threading.Thread(target=self._run, name=f"{NAME}-{protocol}", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Leave the group."""
        self._is_over.set()
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        is_committed = True
        try:
            while not self._is_over.is_set():
                # Errors of connections come as messages, too: the library tries again by itself.
                found = [each for each in self._consumer.consume(100, timeout=_POLL_S) if each.error() is None]
                self.partition_count = len(self._consumer.assignment())
                for message in found:
                    self._group.take(message.partition(), message.offset())
                if found or not is_committed:
                    is_committed = self._commit()
        except Exception as error:  # noqa: BLE001 - whatever it is, the demo has to tell of it
            self._group.problem = f"{NAME}: {type(error).__name__}: {error}"
        finally:
            self._consumer.close()

    def _commit(self) -> bool:
        try:
            done = self._consumer.commit(asynchronous=False) or []
        except ck.KafkaException as error:
            # The coordinator is about to move, or the group rebalances: it is committed later. Or there is nothing left
            # to commit, because the partitions are another's now.
            return error.args[0].name() == "_NO_OFFSET"
        for each in done:
            # There is no offset where it has read nothing since it got the partition.
            if each.error is None and each.offset >= 0:
                self._group.committed[each.partition] = each.offset
        return all(each.error is None for each in done)


class Group:
    """A topic of orders, and its consumers. A `with` block: at its end none of them runs."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.problem: str | None = None
        # Next offset by partition, as members were told that it is committed.
        self.committed: dict[int, int] = {}
        self.members: list[Member] = []
        self._read: defaultdict[int, set[int]] = defaultdict(set)
        self._ordered = 0
        self._producer = ck.Producer({"bootstrap.servers": servers, "acks": "all", "log_level": 0})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let all members leave."""
        for member in self.members:
            member.leave()
        self.members = []

    def join(self, protocol: str) -> None:
        """Let a consumer join."""
        self.members.append(Member(self, protocol))

    def replace_one(self, protocol: str) -> None:
        """Replace the oldest member by one of this protocol."""
        self.members.pop(0).leave()
        self.join(protocol)

    def order(self, count: int) -> None:
        """Produce this many more orders. Raises LoadError if they are not acked."""
        for number in range(self._ordered, self._ordered + count):
            self._producer.produce(TOPIC, b"order %d" % number, partition=number % PARTITIONS)
        self._ordered += count
        if self._producer.flush(_PATIENCE_S):
            raise LoadError("orders were not acked in time")

    def take(self, partition: int, offset: int) -> None:
        """Record an order that was read; one that came again although it was committed is a problem."""
        if offset < self.committed.get(partition, 0):
            self.problem = f"{TOPIC}-{partition}: {offset} came again after {self.committed[partition]} was committed"
        self._read[partition].add(offset)

    def check(self) -> None:
        """Raise LoadError if a consumer had a problem."""
        if self.problem is not None:
            raise LoadError(self.problem)

    def await_all(self) -> None:
        """Return when the members share the partitions, and have read and committed all orders. Raises LoadError."""
        end = self._ordered // PARTITIONS
        _until(
            lambda: (
                [member.partition_count for member in self.members] == [PARTITIONS // MEMBERS] * MEMBERS
                and all(self.committed.get(number) == end for number in range(PARTITIONS))
                and all(self._read[number] == set(range(end)) for number in range(PARTITIONS))
            ),
            self,
        )

    def summary(self) -> str:
        """Return the progress."""
        protocols = ", ".join(member.protocol for member in self.members)
        offsets = " ".join(f"{number}:{offset}" for number, offset in sorted(self.committed.items()))
        return f"group {NAME} ({protocols}): {self._ordered} orders, committed {offsets}"


def _until(is_so: Callable[[], bool], group: Group) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not is_so():
        group.check()
        if time.monotonic() > deadline:
            raise LoadError(f"waited {_PATIENCE_S} s in vain until all orders are read: {group.summary()}")
        time.sleep(_POLL_S)
    group.check()


def served(servers: str) -> dict[int, int]:
    """Return the committed offsets by partition, as the coordinator serves them. Raises KafkaException."""
    # Not asked through an AdminClient: that of librdkafka ends the process if the coordinator has just moved.
    consumer = ck.Consumer({"bootstrap.servers": servers, "group.id": NAME, "log_level": 0})
    try:
        found = consumer.committed([ck.TopicPartition(TOPIC, number) for number in range(PARTITIONS)], _PATIENCE_S)
    finally:
        consumer.close()
    return {each.partition: each.offset for each in found if each.offset >= 0}
