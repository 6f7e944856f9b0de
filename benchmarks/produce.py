"""Produce: a broker of ours against one of real Kafka, 4 connections with 5 requests in flight, a partition for each.

Budgets: >= 1x the processor time, >= 0.8x by the clock, for one record of 1 KB a batch, 16 of them, and a megabyte of
them. Batches are uncompressed and keep their CreateTime; both sides check the CRC and every record. All replicas (one)
have to have them.
"""

import time
from collections.abc import Sequence
from functools import partial

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import ProduceRequest
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from support.brokers import (
    WINDOW_MS,
    Side,
    both_sides,
    create_topics,
    delete_topic,
    end_offset,
    print_turns,
    warm_up,
)
from support.kafka_peer import Peer, measure_against_kafka
from support.load import Measured, Work, run_load

TURNS = 3
CONNECTIONS = 4
IN_FLIGHT = 5
RECORD_BYTES = 1024
VERSION = 9
WARM_UP_MS = 1_000
# Name, records of a batch, and for how long: the disk is not what is measured.
LOADS = (("1 KB", 1, 2_000), ("16 KB", 16, 2_000), ("1 MB", 1_000, 1_000))
VALUE = bytes(number * 7 % 251 for number in range(RECORD_BYTES))


def measure(kafka: Peer) -> None:
    with both_sides(kafka) as sides:
        for name, records, measured_ms in LOADS:
            for side in sides:
                warm_up(partial(window, kafka, side, records))
            turns = [
                run(kafka, sides, f"turn-{records}-{turn}", records, warm_up_ms=WARM_UP_MS, measured_ms=measured_ms)
                for turn in range(TURNS)
            ]
            print_turns(f"produce {name}, {CONNECTIONS} x {IN_FLIGHT}", turns, budget=1, wall_budget=0.8)


def window(kafka: Peer, side: Side, records: int, number: int) -> Measured:
    (measured,) = run(kafka, [side], f"warm-up-{records}-{number}", records, warm_up_ms=0, measured_ms=WINDOW_MS)
    return measured


def run(
    kafka: Peer, sides: Sequence[Side], topic: str, records: int, *, warm_up_ms: int, measured_ms: int
) -> list[Measured]:
    """Load the sides, each on a topic of its own. What was answered has to be there."""
    for side in sides:
        create_topics(side.port, [topic], partitions=CONNECTIONS)
    first, *others = (produce_request(topic, partition, records) for partition in range(CONNECTIONS))
    work = Work(request=first, others=others, version=VERSION)
    found = run_load(
        kafka,
        [side.target(work) for side in sides],
        connections=CONNECTIONS,
        in_flight=IN_FLIGHT,
        warm_up_ms=warm_up_ms,
        measured_ms=measured_ms,
    )
    for side, measured in zip(sides, found, strict=True):
        written = sum(end_offset(side.port, topic, partition) for partition in range(CONNECTIONS))
        assert written >= measured.answers * records, (written, measured)
        delete_topic(side.port, topic)
    return found


def produce_request(topic: str, partition: int, count: int) -> ProduceRequest:
    now_ms = time.time_ns() // 1_000_000
    records = [Record(offset=number, timestamp=now_ms, key=None, value=VALUE) for number in range(count)]
    data = PartitionProduceData(partition, build_batch(records, base_offset=0))
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(topic, partition_data=[data])])


if __name__ == "__main__":
    measure_against_kafka("produce", measure)
