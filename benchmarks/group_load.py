"""A million records of `__consumer_offsets` loaded by the broker that leads them: ours against real Kafka.

Budget: half of Kafka's speed in wall time. The same segment is put into a stopped broker of each side: 1,000 groups of
100 partitions with about ten commits each, now and then a record of a classic group of three members, batches of 20
records. Compared are the time that each broker reports after loading the partition, and the processor time from the
start of the process until a group's offset is answered, minus that of a start with an empty partition. The JVM is as
cold as in any broker that was just started.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from random import Random

from falkirk.coordinator.offsets.offset_records import offset_key_bytes, offset_value_bytes
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.coordinator_record import encode_key, encode_value
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from falkirk.protocol.messages.group_metadata_value import MemberMetadata
from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from falkirk.protocol.record import Record
from support.group_members import await_coordinator
from support.kafka_peer import Peer, measure_against_kafka
from support.line import print_line
from support.load import ask
from support.process import cpu_seconds
from support.server import Server, falkirk_servers, kafka_servers

RECORDS = 1_000_000
BATCH_RECORDS = 20
GROUPS = 1_000
PARTITIONS = 100
GROUP_RECORD_EVERY = 100
VALUE_VERSION = 3
GROUP_VALUE_VERSION = 3
TURNS = 3
TOPIC = "read"
PARTITION = "__consumer_offsets-0"
SEGMENT = f"{0:020}.log"
PROPERTIES = {
    "offsets.topic.num.partitions": 1,
    "offsets.retention.minutes": 10_000_000,
    "log.cleaner.enable": "false",
    "log.retention.ms": -1,
}
# What each side says when it has loaded a partition.
KAFKA_LOADED = re.compile(rb"Finished loading of metadata from __consumer_offsets-0 .* in (\d+) ?ms")
FALKIRK_LOADED = re.compile(rb"group-coordinator-loaded[^\n]*\bms[\"=: ]+(\d+)")
WAIT_S = 120

Serve = Callable[[], AbstractContextManager[list[Server]]]


class Side:
    """One broker's directory, started again and again."""

    def __init__(self, serve: Serve, loaded: re.Pattern[bytes], segment: Path) -> None:
        self._serve = serve
        self._loaded = loaded
        self._segment = segment
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []
        self._empty_cpu = 0.0

    def prepare(self) -> None:
        """Create the topic, measure a plain start, and put the segment in place."""
        with self._serve() as (server,):
            await_coordinator(server.broker_port, group_name(0))
            home = server.home
        self._empty_cpu = self._start()[1]
        for file in (home / "log" / PARTITION).glob("0*"):
            file.unlink()
        shutil.copyfile(self._segment, home / "log" / PARTITION / SEGMENT)
        (home / "log" / PARTITION / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
        self._start()

    def turn(self) -> None:
        """Start the broker and wait until it serves the groups."""
        seconds, cpu = self._start()
        self.seconds.append(seconds)
        self.cpu_seconds.append(cpu - self._empty_cpu)

    def _start(self) -> tuple[float, float]:
        """Return the load time that the broker reports, and the processor time of the process until it answers."""
        with self._serve() as (server,):
            deadline = time.monotonic() + WAIT_S
            while fetch_error(server.broker_port) != ErrorCode.NONE:
                assert time.monotonic() < deadline, "the groups are not served"
                time.sleep(0.05)
            cpu = cpu_seconds(server.pid)
            while (found := self._loaded.search((server.home / "server.log").read_bytes())) is None:
                assert time.monotonic() < deadline, "nothing is told of the load"
                time.sleep(0.05)
        return int(found[1]) / 1_000, cpu


def measure(kafka: Peer) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        segment = folder / SEGMENT
        write_segment(segment)
        broker = {"roles": "broker,controller", "properties": PROPERTIES}
        ours = Side(partial(falkirk_servers, folder / "falkirk", 1, **broker), FALKIRK_LOADED, segment)
        theirs = Side(partial(kafka_servers, kafka, folder / "kafka", 1, **broker), KAFKA_LOADED, segment)
        for side in (ours, theirs):
            side.prepare()
        for _ in range(TURNS):
            for side in (ours, theirs):
                side.turn()
    print_line(
        f"load of {RECORDS:,} coordinator records",
        ours.seconds,
        theirs.seconds,
        budget=0.5,
        cpu=(ours.cpu_seconds, theirs.cpu_seconds),
    )


def write_segment(file: Path) -> None:
    """Write the log of a partition."""
    now_ms = time.time_ns() // 1_000_000
    with file.open("wb") as log:
        records = coordinator_records(now_ms)
        for base in range(0, RECORDS, BATCH_RECORDS):
            batch = [Record(base + at, now_ms, *next(records)) for at in range(BATCH_RECORDS)]
            log.write(build_batch(batch, base_offset=base, leader_epoch=0))
    # What was written is not to be written back while something is measured.
    os.sync()


def coordinator_records(now_ms: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values without end."""
    random = Random(1)
    number = 0
    while True:
        group = group_name(random.randrange(GROUPS) if number >= GROUPS else number)
        if number < GROUPS or number % GROUP_RECORD_EVERY == 0:
            yield encode_key(GroupMetadataKey(group)), group_value(number, now_ms)
        else:
            value = OffsetCommitValue(number, leader_epoch=3, metadata="", commit_timestamp=now_ms)
            key = OffsetCommitKey(group, TOPIC, random.randrange(PARTITIONS))
            yield offset_key_bytes(key), offset_value_bytes(value, VALUE_VERSION)
        number += 1


def group_value(generation: int, now_ms: int) -> bytes:
    members = [
        MemberMetadata(
            member_id=f"consumer-{number}-4d9a4d0c-6c0a-4f3a-9a7e-4d9a4d0c6c0a",
            client_id=f"consumer-{number}",
            client_host="/127.0.0.1",
            rebalance_timeout=300_000,
            session_timeout=1_800_000,
            subscription=b"\x00\x01" + bytes(30),
            assignment=b"\x00\x01" + bytes(60),
        )
        for number in range(3)
    ]
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=generation,
        protocol="range",
        leader=members[0].member_id,
        current_state_timestamp=now_ms,
        members=members,
    )
    return encode_value(value, GROUP_VALUE_VERSION)


def fetch_error(port: int) -> int:
    asked = OffsetFetchRequestTopics(TOPIC, partition_indexes=[0])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_name(0), topics=[asked])])
    try:
        return ask(port, request, 9, OffsetFetchResponse).groups[0].error_code
    except ConnectionError:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE


def group_name(number: int) -> str:
    return f"group-{number:04}"


if __name__ == "__main__":
    measure_against_kafka("group_load", measure)
