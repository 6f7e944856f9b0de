"""Offset commits: a broker of ours against one of real Kafka, 8 groups without members on as many connections.

Budgets: >= 1x the processor time per request, >= 0.8x by the clock. Each request commits the offsets of one partition,
or of ten; one at a time on each connection, or eight. The end of each turn fetches the committed offsets.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from falkirk.protocol.messages.offset_commit_request import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from support.brokers import WINDOW_MS, Side, both_sides, create_topics, print_turns, warm_up
from support.group_members import await_coordinator
from support.kafka_peer import Peer, measure_against_kafka
from support.load import Measured, Work, ask, run_load

TURNS = 3
VERSION = 9
FETCH_VERSION = 9
GROUPS = 8
TOPIC = "read"
PARTITIONS = 10
WARM_UP_MS = 1_000
MEASURED_MS = 2_000


@dataclass(frozen=True)
class Load:
    """Partitions per request, requests at a time on each connection."""

    partitions: int
    in_flight: int


LOADS = (Load(1, 1), Load(1, 8), Load(10, 8))


def measure(kafka: Peer) -> None:
    with both_sides(kafka) as sides:
        for side in sides:
            create_topics(side.port, [TOPIC], partitions=PARTITIONS)
            for number in range(GROUPS):
                await_commit(side.port, number)
            # The same work in each load: a side that is warm stays so.
            warm_up(partial(window, kafka, side))
        for number, load in enumerate(LOADS, 1):
            turns = [
                run(kafka, sides, load, 1_000 * number + turn, warm_up_ms=WARM_UP_MS, measured_ms=MEASURED_MS)
                for turn in range(TURNS)
            ]
            name = f"offset commits, {load.partitions} of a request, {GROUPS} x {load.in_flight}"
            print_turns(name, turns, budget=1, wall_budget=0.8)


def window(kafka: Peer, side: Side, number: int) -> Measured:
    (measured,) = run(kafka, [side], LOADS[-1], number, warm_up_ms=0, measured_ms=WINDOW_MS)
    return measured


def run(
    kafka: Peer, sides: Sequence[Side], load: Load, offset: int, *, warm_up_ms: int, measured_ms: int
) -> list[Measured]:
    """Load the sides, with offsets of their own. The commits must be there."""
    first, *others = (commit_request(number, load.partitions, offset) for number in range(GROUPS))
    work = Work(request=first, others=others, version=VERSION)
    found = run_load(
        kafka,
        [side.target(work) for side in sides],
        connections=GROUPS,
        in_flight=load.in_flight,
        warm_up_ms=warm_up_ms,
        measured_ms=measured_ms,
    )
    for side in sides:
        for number in range(GROUPS):
            assert committed(side.port, number, load.partitions) == {offset}, (number, offset)
    return found


def commit_request(number: int, partitions: int, offset: int) -> OffsetCommitRequest:
    committed = [OffsetCommitRequestPartition(at, committed_offset=offset) for at in range(partitions)]
    return OffsetCommitRequest(group_name(number), topics=[OffsetCommitRequestTopic(TOPIC, partitions=committed)])


def committed(port: int, number: int, partitions: int) -> set[int]:
    """Return the offsets of a group."""
    asked = OffsetFetchRequestTopics(TOPIC, partition_indexes=list(range(partitions)))
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_name(number), topics=[asked])])
    (group,) = ask(port, request, FETCH_VERSION, OffsetFetchResponse).groups
    return {partition.committed_offset for partition in group.topics[0].partitions}


def await_commit(port: int, number: int) -> None:
    """Wait until a group's coordinator accepts commits."""
    await_coordinator(port, group_name(number))
    deadline = time.monotonic() + 30
    while (error := commit_error(port, number)) != ErrorCode.NONE:
        assert time.monotonic() < deadline, error
        time.sleep(0.1)


def commit_error(port: int, number: int) -> int:
    answer = ask(port, commit_request(number, 1, 0), VERSION, OffsetCommitResponse)
    return answer.topics[0].partitions[0].error_code


def group_name(number: int) -> str:
    return f"group-{number:03}"


if __name__ == "__main__":
    measure_against_kafka("offset_commits", measure)
