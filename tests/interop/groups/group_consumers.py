"""Consumers of every library as group members, behind one interface."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import confluent_kafka as ck
from java_client import JavaPrograms
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

# Library, and the protocol that it speaks.
CLASSIC = ("librdkafka", "kafka-python", "java-3.7.2", "java-4.3.1")
CONSUMER = ("librdkafka-consumer", "java-4.3.1-consumer")
_NUMBERS = itertools.count(1)
_PATIENCE_S = 60
_POLL_MS = 100
# kafka-python 3 forgets an assignment that arrives when `poll` has just timed out, and joins anew after 100 ms.
_KAFKA_PYTHON_POLL_MS = 250

# Partition, offset, value.
Read = tuple[int, int, str]


class GroupConsumer(Protocol):
    """A member of a group, which reads one topic from the start, or from the committed offsets."""

    def poll(self) -> Sequence[Read]:
        """Return the received records; the member stays alive as long as it polls."""

    def assignment(self) -> frozenset[int]:
        """The assigned partitions."""

    def commit(self) -> None:
        """Commit everything that it has received."""

    def commit_offsets(self, offsets: Mapping[int, int]) -> None:
        """Commit these offsets, by partition. Raises what the library raises."""

    def close(self) -> None:
        """Leave the group."""


class LibrdkafkaConsumer:
    """librdkafka through confluent-kafka."""

    def __init__(self, servers: str, group: str, topic: str, **config: Any) -> None:
        common = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0}
        self._topic = topic
        self._consumer = ck.Consumer(common | {"enable.auto.commit": False} | config)
        self._consumer.subscribe([topic])

    def poll(self) -> Sequence[Read]:
        found = self._consumer.consume(500, timeout=_POLL_MS / 1000)
        # Errors of connections come as messages, too: the library tries again by itself.
        return [(one.partition(), one.offset(), one.value().decode()) for one in found if one.error() is None]

    def assignment(self) -> frozenset[int]:
        return frozenset(one.partition for one in self._consumer.assignment())

    def commit(self) -> None:
        try:
            done = self._consumer.commit(asynchronous=False) or ()
        except ck.KafkaException as error:
            # It was given nothing since it committed.
            if error.args[0].code() != ck.KafkaError._NO_OFFSET:
                raise
            done = ()
        for one in done:
            assert one.error is None, one.error

    def commit_offsets(self, offsets: Mapping[int, int]) -> None:
        wanted = [ck.TopicPartition(self._topic, partition, offset) for partition, offset in offsets.items()]
        for one in self._consumer.commit(offsets=wanted, asynchronous=False) or ():
            if one.error is not None:
                raise ck.KafkaException(one.error)

    def close(self) -> None:
        self._consumer.close()


class KafkaPythonConsumer:
    """kafka-python."""

    def __init__(self, servers: str, group: str, topic: str) -> None:
        self._topic = topic
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=servers.split(","),
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=300,
        )

    def poll(self) -> Sequence[Read]:
        found = self._consumer.poll(timeout_ms=_KAFKA_PYTHON_POLL_MS)
        return [(one.partition, one.offset, one.value.decode()) for each in found.values() for one in each]

    def assignment(self) -> frozenset[int]:
        return frozenset(one.partition for one in self._consumer.assignment())

    def commit(self) -> None:
        self._consumer.commit()

    def commit_offsets(self, offsets: Mapping[int, int]) -> None:
        self._consumer.commit(
            {
                TopicPartition(self._topic, number): OffsetAndMetadata(offset, "", -1)
                for number, offset in offsets.items()
            }
        )

    def close(self) -> None:
        self._consumer.close()


class JavaConsumer:
    """Kafka's own consumer of a release."""

    def __init__(
        self, programs: JavaPrograms, release: str, servers: str, group: str, topic: str, **config: str
    ) -> None:
        self._programs = programs
        self._release = release
        self._topic = topic
        self._name = f"member-{next(_NUMBERS)}"
        common = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
        wanted = common | {"enable.auto.commit": "false"} | config
        self._ask("subscribe", config=wanted, topic=topic)

    def poll(self) -> Sequence[Read]:
        return [(partition, offset, value) for partition, offset, value in self._ask("poll", ms=_POLL_MS)]

    def assignment(self) -> frozenset[int]:
        return frozenset(self._ask("assignment"))

    def commit(self) -> None:
        self._ask("commit")

    def commit_offsets(self, offsets: Mapping[int, int]) -> None:
        self._ask("commit", topic=self._topic, offsets={str(number): offset for number, offset in offsets.items()})

    def close(self) -> None:
        self._ask("close")

    def _ask(self, command: str, **fields: Any) -> Any:  # Any: JSON values
        return self._programs.ask(self._release, {"command": command, "name": self._name} | fields)


class Members:
    """Members of one group, each of any library; `read` has the records of all, in order."""

    def __init__(self, servers: str, group: str, topic: str, programs: JavaPrograms) -> None:
        self.read: list[Read] = []
        self._where = (servers, group, topic)
        self._programs = programs
        self.all: list[GroupConsumer] = []

    def join(self, library: str) -> GroupConsumer:
        """Start a member of a library (CLASSIC or CONSUMER)."""
        member = new_consumer(library, *self._where, self._programs)
        self.all.append(member)
        return member

    def leave(self, member: GroupConsumer) -> None:
        self.all.remove(member)
        member.close()

    def close(self) -> None:
        for member in list(self.all):
            self.leave(member)

    def poll_until(self, condition: Callable[[], bool]) -> None:
        """Poll all members until a condition holds. Raises AssertionError."""
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, ([sorted(one.assignment()) for one in self.all], len(self.read))
            for member in self.all:
                self.read += member.poll()

    def poll_until_shared(self, partitions: int) -> None:
        """Poll until every partition is assigned and all members have equally many."""

        def is_shared() -> bool:
            owned = [one.assignment() for one in self.all]
            return sorted(itertools.chain(*owned)) == list(range(partitions)) and len({len(one) for one in owned}) == 1

        self.poll_until(is_shared)

    def poll_until_read(self, count: int) -> None:
        """Poll until this many records have been received."""
        self.poll_until(lambda: len(self.read) >= count)

    def commit(self) -> None:
        for member in self.all:
            member.commit()


def new_consumer(library: str, servers: str, group: str, topic: str, programs: JavaPrograms) -> GroupConsumer:
    """Start a consumer of a library (CLASSIC or CONSUMER)."""
    name = library.removesuffix("-consumer")
    # Members of the consumer protocol are told by the coordinator how often to ask.
    config = {"heartbeat.interval.ms": "300"} if name == library else {"group.protocol": "consumer"}
    if name.startswith("java-"):
        return JavaConsumer(programs, name.removeprefix("java-"), servers, group, topic, **config)
    if name == "kafka-python":
        return KafkaPythonConsumer(servers, group, topic)
    return LibrdkafkaConsumer(servers, group, topic, **config)


@contextmanager
def members(servers: str, group: str, topic: str, programs: JavaPrograms) -> Iterator[Members]:
    """Members that leave at the end of the block."""
    made = Members(servers, group, topic, programs)
    try:
        yield made
    finally:
        made.close()
