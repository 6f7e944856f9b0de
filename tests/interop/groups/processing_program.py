"""One worker of an application that consumes, transforms and produces, exactly once; runs until it is killed.

    processing_program.py SERVERS FOLDER NAME

It follows transaction.version with the assignor of docs/how-to/group-features.md. Below THREAD_LEVEL each partition is
a task with a producer of its own, whose transactional id is the task's: whoever gets the task fences the owner before.
From THREAD_LEVEL on one producer of the whole thread sends the group's generation with the offsets (KIP-447), and that
fences the owner before. An owner of the old kind says no generation, so whoever gets a task fences its producer, too.

FOLDER has what the test and the workers tell each other: `ask`, the brokers that are asked for the finalized levels;
NAME.stop, where the worker is to stop within its next transaction (SIGSTOP); NAME.jsonl, what it has done. After any
error it ends, and is started again.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import kafka
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from level_group import guide

from falkirk.client.blocking_admin import Admin
from falkirk.client.config import ClientConfig, parse_servers
from falkirk.client.errors import ClientError
from falkirk.coordinator.membership.feature_level import FeatureLevel
from falkirk.versions.supported_range import SupportedRange

FEATURE = "transaction.version"
THREAD_LEVEL = 2
GROUP, SOURCE, TARGET = "processing", "numbers", "doubles"
BEFORE_OFFSETS, BEFORE_COMMIT = "before offsets", "before commit"
_TRANSACTION_MS = 60_000
_RECORDS_MAX = 20
_POLL_MS = 500
_ASK_S = 0.5
# kafka-python 3.0.12 drops a transaction's request when the coordinator refuses the connection, and waits for ever.
_STALL_S = 15


def transformed(value: bytes) -> bytes:
    """Return what becomes of a record."""
    return b"%d" % (2 * int(value))


class Worker(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    """A member of the group, with its producers."""

    def __init__(self, servers: str, folder: Path, name: str) -> None:
        self._servers, self._folder, self._name = servers, folder, name
        example = guide()
        self._ask = example["ask"]
        self._level = FeatureLevel(FEATURE, SupportedRange(0, THREAD_LEVEL))
        self._assignor = example["LevelAssignor"](self._level)
        self._producers: dict[str, kafka.KafkaProducer] = {}
        # The partitions of the newest generation, and what tells the coordinator which one that is.
        self._owned: tuple[frozenset[Any], Any] = (frozenset(), None)
        # By partition the offset behind the last committed record.
        self._done: dict[Any, int] = {}
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=servers.split(","),
            group_id=GROUP,
            partition_assignment_strategy=[self._assignor],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            session_timeout_ms=10_000,
            heartbeat_interval_ms=300,
        )
        self._consumer.subscribe([SOURCE], listener=self)

    def run(self) -> None:
        """Work until an error."""
        ask_at = 0.0
        while True:
            _go_on()
            found = self._consumer.poll(_POLL_MS, max_records=_RECORDS_MAX)
            owned, member = self._owned
            fresh = {
                partition: left
                for partition, records in found.items()
                if partition in owned and (left := self._left(partition, records))
            }
            for producer_id, part in self._shares(fresh):
                self._transact(producer_id, part, member if self._is_thread else GROUP)
            if time.monotonic() >= ask_at:
                self._ask_for_levels()
                ask_at = time.monotonic() + _ASK_S

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:  # noqa: ARG002
        """Between two polls no transaction is open: nothing is to be ended."""
        self._owned = (frozenset(), None)

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Fence the producers of the tasks' owners before, so that the offsets that are fetched next are final."""
        tasks = {f"{GROUP}-{partition.partition}" for partition in assigned}
        for producer_id in [each for each in self._producers if each not in tasks or self._is_thread]:
            if not _is_thread_id(producer_id):
                self._producers.pop(producer_id).close(timeout=1)
        for producer_id in sorted(tasks):
            made = self._made(producer_id)
            if self._is_thread:
                made.close(timeout=1)
            else:
                self._producers[producer_id] = made
        if self._is_thread and self._thread_id not in self._producers:
            self._producers[self._thread_id] = self._made(self._thread_id)
        member = self._consumer.group_metadata()
        self._owned = (frozenset(assigned), member)
        self._tell(
            "assigned",
            generation=member.generation_id,
            level=self._level.level,
            leads=self._assignor.is_leader,
            partitions=sorted(each.partition for each in assigned),
        )

    @property
    def _is_thread(self) -> bool:
        return self._level.level >= THREAD_LEVEL

    @property
    def _thread_id(self) -> str:
        return f"{GROUP}-thread-{self._name}"

    def _made(self, producer_id: str) -> kafka.KafkaProducer:
        _go_on()
        made = kafka.KafkaProducer(
            bootstrap_servers=self._servers.split(","),
            transactional_id=producer_id,
            transaction_timeout_ms=_TRANSACTION_MS,
        )
        made.init_transactions()
        return made

    def _left(self, partition: Any, records: Sequence[Any]) -> list[Any]:
        """Return the records that this worker has not committed yet: a poll may return what the one before had."""
        return [each for each in records if each.offset >= self._done.get(partition, 0)]

    def _shares(self, found: Mapping[Any, list[Any]]) -> Iterable[tuple[str, Mapping[Any, list[Any]]]]:
        """Yield what belongs into one transaction, with the producer's transactional id."""
        if self._is_thread:
            if found:
                yield self._thread_id, found
            return
        for partition, records in found.items():
            yield f"{GROUP}-{partition.partition}", {partition: records}

    def _transact(self, producer_id: str, found: Mapping[Any, list[Any]], group: Any) -> None:
        producer = self._producers[producer_id]
        producer.begin_transaction()
        for partition, records in found.items():
            for each in records:
                producer.send(TARGET, transformed(each.value), partition=partition.partition)
        offsets = {
            partition: kafka.OffsetAndMetadata(records[-1].offset + 1, "", -1) for partition, records in found.items()
        }
        self._stop_at(BEFORE_OFFSETS, producer)
        producer.send_offsets_to_transaction(offsets, group)
        self._stop_at(BEFORE_COMMIT, producer)
        producer.commit_transaction()
        self._done |= {partition: each.offset for partition, each in offsets.items()}
        self._tell("committed", producer=producer_id, level=self._level.level)

    def _stop_at(self, place: str, producer: kafka.KafkaProducer) -> None:
        """Stop here if the test wants it, until it lets the worker go on: by then another one has its tasks."""
        order = self._folder / f"{self._name}.stop"
        if not order.exists() or order.read_text() != place:
            return
        order.unlink()
        producer.flush()
        signal.alarm(0)
        self._tell("stops", place=place, level=self._level.level)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._tell("goes on")
        _go_on()

    def _ask_for_levels(self) -> None:
        servers = (self._folder / "ask").read_text()
        one = random.choice(servers.split(","))
        try:
            with Admin(parse_servers(one), ClientConfig()) as admin:
                self._ask(admin, self._assignor, self._consumer)
        except ClientError as error:
            self._tell("not answered", server=one, error=str(error))
        else:
            self._tell("asked", server=one, leads=self._assignor.is_leader)

    def _tell(self, event: str, **more: Any) -> None:
        tell(self._folder, self._name, event, **more)


def tell(folder: Path, name: str, event: str, **more: Any) -> None:
    """Add a line to what a worker has done."""
    with (folder / f"{name}.jsonl").open("a") as lines:
        lines.write(json.dumps({"event": event, **more}) + "\n")


def _is_thread_id(producer_id: str) -> bool:
    return producer_id.startswith(f"{GROUP}-thread-")


def _go_on() -> None:
    """End the program if this is not called again for a while."""
    signal.alarm(_STALL_S)


def main(servers: str, folder: str, name: str) -> None:
    """Run a worker, and tell why it ends."""
    try:
        Worker(servers, Path(folder), name).run()
    except Exception as error:
        tell(Path(folder), name, "failed", error=type(error).__name__, reason=str(error))
        raise


if __name__ == "__main__":
    main(*sys.argv[1:])
