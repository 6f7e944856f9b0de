"""Fetch of 1 MB, by one and by four connections: a broker of ours against one of real Kafka.

Budget: >= 0.9x. The data was written in batches of 16 KB and is in the page cache.
"""

import time
from collections.abc import Sequence
from functools import partial

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchRequest, FetchResponse, ProduceResponse
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from produce import produce_request
from support.brokers import WAIT_S, WINDOW_MS, Side, both_sides, create_topics, print_turns, warm_up
from support.kafka_peer import Peer, measure_against_kafka
from support.load import Measured, Work, ask, run_load

TURNS = 3
TOPIC = "fetched"
BATCHES = 128
RECORDS_PER_BATCH = 16
BATCH_BYTES_MAX = (RECORDS_PER_BATCH + 1) * 1024
MEGABYTE = 1 << 20
VERSION = 12
WARM_UP_MS = 1_000
MEASURED_MS = 2_000


def measure(kafka: Peer) -> None:
    with both_sides(kafka) as sides:
        for side in sides:
            fill(side.port)
            warm_up(partial(window, kafka, side))
        for connections in (1, 4):
            turns = [
                run(kafka, sides, connections, warm_up_ms=WARM_UP_MS, measured_ms=MEASURED_MS) for _ in range(TURNS)
            ]
            print_turns(f"fetch 1 MB, {connections} x 1", turns, budget=0.9)


def window(kafka: Peer, side: Side, number: int) -> Measured:
    del number
    (measured,) = run(kafka, [side], 4, warm_up_ms=0, measured_ms=WINDOW_MS)
    return measured


def run(kafka: Peer, sides: Sequence[Side], connections: int, *, warm_up_ms: int, measured_ms: int) -> list[Measured]:
    """Load the sides. Each answer has to be whole."""
    found = run_load(
        kafka,
        [side.target(work()) for side in sides],
        connections=connections,
        in_flight=1,
        warm_up_ms=warm_up_ms,
        measured_ms=measured_ms,
    )
    assert all(measured.answer_bytes > MEGABYTE - BATCH_BYTES_MAX for measured in found), found
    return found


def fill(port: int) -> None:
    create_topics(port, [TOPIC])
    written = 0
    deadline = time.monotonic() + WAIT_S
    while written < BATCHES:
        answer = ask(port, produce_request(TOPIC, 0, RECORDS_PER_BATCH), 9, ProduceResponse)
        error = answer.responses[0].partition_responses[0].error_code
        # Kafka tells of a leader a moment before that broker knows that it leads.
        assert error in {ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER}, answer
        assert time.monotonic() < deadline, answer
        written += not error
    answer = ask(port, work().request, VERSION, FetchResponse)
    (found,) = answer.responses[0].partitions
    assert found.error_code == 0
    assert found.records is not None
    assert len(found.records) > MEGABYTE - BATCH_BYTES_MAX


def work() -> Work:
    partition = FetchPartition(0, fetch_offset=3, partition_max_bytes=MEGABYTE)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=1, max_bytes=MEGABYTE, topics=[FetchTopic(TOPIC, partitions=[partition])]
    )
    return Work(request=request, version=VERSION)


if __name__ == "__main__":
    measure_against_kafka("fetch", measure)
