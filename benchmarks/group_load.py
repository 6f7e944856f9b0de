"""A million records of `__consumer_offsets` loaded by the broker that leads them: ours against real Kafka.

Budget: half of Kafka's speed in wall time. The same segment is put into a stopped broker of each side: 1,000 groups of
100 partitions with about ten commits each, now and then a record of a classic group of three members, batches of 20
records. Compared are the time that each broker reports after loading the partition, and the processor time from the
start of the process until a group's offset is answered, minus that of a start with an empty partition. The JVM is as
cold as in any broker that was just started.
"""

import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from falkirk.coordinator.offsets.offset_records import offset_key_bytes, offset_value_bytes
from falkirk.protocol.coordinator_record import encode_key, encode_value
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
from support.group_members import await_coordinator
from support.kafka_peer import Peer, measure_against_kafka
from support.load import ask
from support.partition_load import SEGMENT, PartitionLoads, write_segment

RECORDS = 1_000_000
BATCH_RECORDS = 20
GROUPS = 1_000
PARTITIONS = 100
GROUP_RECORD_EVERY = 100
VALUE_VERSION = 3
GROUP_VALUE_VERSION = 3
TOPIC = "read"
PARTITION = "__consumer_offsets-0"
PROPERTIES = {
    "offsets.topic.num.partitions": 1,
    "offsets.retention.minutes": 10_000_000,
    "log.cleaner.enable": "false",
    "log.retention.ms": -1,
}
# What each side says when it has loaded a partition.
KAFKA_LOADED = re.compile(rb"Finished loading of metadata from __consumer_offsets-0 .* in (\d+) ?ms")
FALKIRK_LOADED = re.compile(rb"group-coordinator-loaded[^\n]*\bms[\"=: ]+(\d+)")


def measure(kafka: Peer) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        segment = folder / SEGMENT
        now_ms = time.time_ns() // 1_000_000
        write_segment(segment, coordinator_records(now_ms), RECORDS, BATCH_RECORDS, now_ms)
        loads = PartitionLoads(
            PARTITION,
            segment,
            create=lambda port: await_coordinator(port, group_name(0)),
            error=fetch_error,
        )
        sides = loads.both_sides(kafka, folder, PROPERTIES, ours=FALKIRK_LOADED, theirs=KAFKA_LOADED)
    loads.print(f"load of {RECORDS:,} coordinator records", *sides, budget=0.5)


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
    return ask(port, request, 9, OffsetFetchResponse).groups[0].error_code


def group_name(number: int) -> str:
    return f"group-{number:04}"


if __name__ == "__main__":
    measure_against_kafka("group_load", measure)
