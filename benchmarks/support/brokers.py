"""A broker of each side, and topics on it."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from falkirk.protocol.messages import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig
from falkirk.protocol.messages.delete_topics_request import DeleteTopicState
from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from support.kafka_peer import Peer
from support.line import print_line
from support.load import Measured, Target, Work, ask
from support.server import NO_PROPERTIES, Server, falkirk_servers, kafka_servers

ROLES = "broker,controller"
AT_ONCE = 100
WAIT_S = 60
LATEST = -1
# A side is warm when a window takes what the one before took, or after as many as this.
WINDOW_MS = 4_000
WINDOWS_MAX = 10
STEADY = 0.05
# What was written for a measurement leaves the disk soon after it.
CONFIGS = {"file.delete.delay.ms": "1000"}


@dataclass(frozen=True)
class Side:
    """A broker that is its own controller."""

    server: Server

    @property
    def port(self) -> int:
        return self.server.broker_port

    def target(self, work: Work) -> Target:
        return Target(port=self.port, servers=[self.server], work=work)


@contextmanager
def both_sides(kafka: Peer, properties: Mapping[str, object] = NO_PROPERTIES) -> Iterator[tuple[Side, Side]]:
    """Run a broker of ours and one of Kafka's."""
    with (
        tempfile.TemporaryDirectory() as folder,
        kafka_servers(kafka, Path(folder) / "kafka", 1, roles=ROLES, properties=properties) as (peer,),
        falkirk_servers(Path(folder) / "falkirk", 1, roles=ROLES, properties=properties) as (own,),
    ):
        yield Side(own), Side(peer)


def warm_up(run: Callable[[int], Measured]) -> None:
    """Run windows until two of them took equally long: the peer's compiler needs warm-up of unknown length.

    `run` gets the window's number and returns processor time, the compiler's included.
    """
    before = run(0).cpu_seconds
    for number in range(1, WINDOWS_MAX):
        taken = run(number).cpu_seconds
        if abs(taken - before) < STEADY * before:
            return
        before = taken


def create_topics(port: int, names: list[str], *, partitions: int = 1) -> None:
    """Create topics and wait until each partition has its leader."""
    deadline = time.monotonic() + WAIT_S
    while not ask(port, MetadataRequest([]), 12, MetadataResponse).brokers:
        assert time.monotonic() < deadline, "the broker stays fenced"
        time.sleep(0.1)
    configs = [CreatableTopicConfig(*entry) for entry in CONFIGS.items()]
    for first in range(0, len(names), AT_ONCE):
        topics = [
            CreatableTopic(name, num_partitions=partitions, replication_factor=1, configs=configs)
            for name in names[first : first + AT_ONCE]
        ]
        answer = ask(port, CreateTopicsRequest(topics), 7, CreateTopicsResponse)
        errors = {topic.error_message for topic in answer.topics if topic.error_code}
        assert not errors, errors
    while _led(port, names) < partitions * len(names):
        assert time.monotonic() < deadline, "not every partition has got a leader"
        time.sleep(0.1)


def delete_topic(port: int, name: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name)], timeout_ms=30_000)
    answer = ask(port, request, 6, DeleteTopicsResponse)
    assert answer.responses[0].error_code == 0, answer


def end_offset(port: int, topic: str, partition: int) -> int:
    where = ListOffsetsTopic(topic, [ListOffsetsPartition(partition, timestamp=LATEST)])
    answer = ask(port, ListOffsetsRequest(-1, topics=[where]), 7, ListOffsetsResponse)
    (found,) = answer.topics[0].partitions
    assert found.error_code == 0, answer
    return found.offset


def print_turns(
    name: str, turns: Sequence[Sequence[Measured]], *, budget: float | None, wall_budget: float | None = None
) -> None:
    """Print the processor time per request first, then the wall time, by default of the same budget.

    A turn has what our side took, and the peer's.
    """
    ours, theirs = zip(*turns, strict=True)
    cpu = [turn.cpu_seconds for turn in ours], [turn.cpu_seconds for turn in theirs]
    wall = [turn.seconds for turn in ours], [turn.seconds for turn in theirs]
    print_line(f"{name}, CPU per request", *cpu, budget=budget)
    print_line(f"{name}, wall per request", *wall, budget=budget if wall_budget is None else wall_budget)


def _led(port: int, names: list[str]) -> int:
    request = MetadataRequest([MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False)
    topics = ask(port, request, 12, MetadataResponse).topics
    return sum(partition.leader_id >= 0 for topic in topics for partition in topic.partitions)
