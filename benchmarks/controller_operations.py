"""Operations of a controller: three of ours against three of real Kafka's, each acknowledged by a majority's disks.

Budget: >= 1.5x the operations per second, Kafka without its 25 ms of linger, both warm. Operations change a config of a
broker and create topics; the brokers are registered by a script and do not otherwise exist. (Kafka's controllers would
apply each config of all brokers or of their own, which ours need not.) Processor time is that of all three processes
of a side. Turns are short and alternate.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from falkirk.protocol.messages import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from support.controllers import BROKERS, active_controller, register_brokers
from support.kafka_peer import Peer, measure_against_kafka
from support.line import print_line
from support.load import Measured, Target, Work, ask, run_load
from support.server import Server, falkirk_servers, kafka_servers

TURNS = 3
WARM_UP_MS = 1_000
FIRST_WARM_UP_MS = 8_000  # the peer's compiler has work to do
MEASURED_MS = 3_000
CONNECTIONS = 16
IN_FLIGHT = (1, 8)
DIGITS = 8
BROKER_RESOURCE = 4


@dataclass(frozen=True)
class Side:
    """Three controllers."""

    servers: list[Server]
    active: Server


def measure(kafka: Peer) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        kafka_servers(kafka, Path(folder) / "kafka", 3, roles="controller") as theirs,
        falkirk_servers(Path(folder) / "falkirk", 3) as ours,
    ):
        sides = [Side(servers, active_controller(servers)) for servers in (ours, theirs)]
        for side in sides:
            register_brokers(side.active)
        for name, change in (("config changed", change_config), ("topic created", create_topic)):
            run(kafka, sides, change, in_flight=max(IN_FLIGHT), warm_up_ms=FIRST_WARM_UP_MS)
            for in_flight in IN_FLIGHT:
                turns = [run(kafka, sides, change, in_flight=in_flight) for _ in range(TURNS)]
                print_operations(f"controller, {name}, {CONNECTIONS} x {in_flight}", turns)


def print_operations(name: str, turns: Sequence[Sequence[Measured]]) -> None:
    ours, theirs = zip(*turns, strict=True)
    wall = [turn.seconds for turn in ours], [turn.seconds for turn in theirs]
    cpu = [turn.cpu_seconds for turn in ours], [turn.cpu_seconds for turn in theirs]
    print_line(name, *wall, budget=1.5, cpu=cpu)


def run(
    kafka: Peer,
    sides: Sequence[Side],
    change: Callable[[int], Work],
    *,
    in_flight: int,
    warm_up_ms: int = WARM_UP_MS,
) -> list[Measured]:
    """Load the sides. If changes are accepted at the end, all are taken to have been."""
    work = change(next(NUMBERS))
    found = run_load(
        kafka,
        [Target(port=side.active.controller_port, servers=side.servers, work=work) for side in sides],
        connections=CONNECTIONS,
        in_flight=in_flight,
        warm_up_ms=warm_up_ms,
        measured_ms=MEASURED_MS,
    )
    for side in sides:
        check_accepted(side.active.controller_port, change(next(NUMBERS)))
    return found


def check_accepted(port: int, work: Work) -> None:
    if isinstance(work.request, CreateTopicsRequest):
        errors = [topic.error_code for topic in ask(port, work.request, work.version, CreateTopicsResponse).topics]
    else:
        answer = ask(port, work.request, work.version, IncrementalAlterConfigsResponse)
        errors = [response.error_code for response in answer.responses]
    assert errors == [0], errors


def change_config(_: int) -> Work:
    value = AlterableConfig("log.segment.bytes", 0, "1" + "0" * DIGITS)
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER_RESOURCE, str(BROKERS[0]), [value])])
    return Work(request=request, version=1, number_after=b"log.segment.bytes\0\x0a1", digits=DIGITS)


def create_topic(number: int) -> Work:
    """Return the request of a turn; each has names of its own."""
    prefix = f"turn-{number:04}-"
    topic = CreatableTopic(prefix + "0" * DIGITS, num_partitions=1, replication_factor=3)
    return Work(
        request=CreateTopicsRequest([topic], timeout_ms=60_000), version=7, number_after=prefix.encode(), digits=DIGITS
    )


NUMBERS = count()

if __name__ == "__main__":
    measure_against_kafka("controller_operations", measure)
