"""A member of a classic group that goes on while coordinators move between brokers of several releases."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import confluent_kafka as ck

_POLL_S = 0.2
_ANSWER_S = 5
_PATIENCE_S = 90


class GroupMember:
    """Reads a topic as the only member of a group and commits what it read.

    `read` has the values of each partition, from offset 0 on. `problems`: committed records that came again, and
    records that were skipped.
    """

    def __init__(self, servers: str, topic: str, group: str) -> None:
        self.topic = topic
        self.problems: list[str] = []
        self.read: defaultdict[int, list[bytes]] = defaultdict(list)
        self._committed: defaultdict[int, int] = defaultdict(int)
        self._is_over = threading.Event()
        self._consumer = ck.Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run, name=group)

    def start(self) -> None:
        self._consumer.subscribe([self.topic])
        self._thread.start()

    def await_end(self, acked: list[list[bytes]]) -> None:
        """Read on until all acked records of a producer, which has ended, are read and committed.

        Raises AssertionError.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while not self.problems and not self._has_all(acked):
            read = [len(self.read[number]) for number in range(len(acked))]
            reported = f"{read} of {[*map(len, acked)]} read, {dict(self._committed)} committed"
            assert time.monotonic() < deadline, reported
            time.sleep(_POLL_S)
        assert self.problems == []

    def end(self) -> None:
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _has_all(self, acked: list[list[bytes]]) -> bool:
        return all(
            self.read[number] == values and self._committed[number] == len(values)
            for number, values in enumerate(acked)
        )

    def _run(self) -> None:
        is_committed = True
        try:
            while not self._is_over.is_set():
                # Errors of connections come as messages, too: the library tries again by itself.
                found = [one for one in self._consumer.consume(500, timeout=_POLL_S) if one.error() is None]
                for message in found:
                    self._take(message)
                if found or not is_committed:
                    is_committed = self._commit()
        except Exception as error:  # noqa: BLE001 - whatever it is, the test has to hear of it
            self.problems.append(f"{self.topic}: {type(error).__name__}: {error}")
        finally:
            self._consumer.close()

    def _take(self, message: ck.Message) -> None:
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert isinstance(value, bytes)
        values = self.read[partition]
        if offset < self._committed[partition]:
            self.problems.append(f"{self.topic}-{partition}: {offset} again after {self._committed[partition]}")
        if offset > len(values):
            self.problems.append(f"{self.topic}-{partition}: {offset} after {len(values) - 1}")
        if offset == len(values):
            values.append(value)

    def _commit(self) -> bool:
        """True if the coordinator accepted it."""
        try:
            done = self._consumer.commit(asynchronous=False) or []
        except ck.KafkaException as error:
            # Perhaps committed, perhaps not: the coordinator was about to move.
            if error.args[0].code() != ck.KafkaError._NO_OFFSET:
                return False
            done = self._reported()
        for partition in done:
            if partition.error is None and partition.offset >= 0:
                self._committed[partition.partition] = partition.offset
        return bool(done) and all(partition.error is None for partition in done)

    def _reported(self) -> list[ck.TopicPartition]:
        """The coordinator's offsets: an earlier commit may have succeeded though its response was lost."""
        try:
            return self._consumer.committed(self._consumer.assignment(), timeout=_ANSWER_S)
        except ck.KafkaException:
            return []


@contextmanager
def group_member(servers: str, topic: str, group: str) -> Iterator[GroupMember]:
    """Read the topic while the block runs."""
    member = GroupMember(servers, topic, group)
    member.start()
    try:
        yield member
    finally:
        member.end()
