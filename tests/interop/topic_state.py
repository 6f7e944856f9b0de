"""One broker's view of a topic, read over a connection of its own: cheaper than a JVM."""

import socket
from collections.abc import Iterable
from dataclasses import dataclass

from waiting import becomes

from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.protocol.messages import MetadataRequest, MetadataResponse
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic

_VERSION = 12
_TIMEOUT_S = 20
# A node that stops, or does not listen yet, answers nothing.
_NO_ANSWER = (OSError, AssertionError)


@dataclass(frozen=True, slots=True)
class PartitionState:
    """Leader and replicas of a partition; `leader` is -1 if there is none."""

    leader: int
    replicas: tuple[int, ...]
    in_sync: frozenset[int]


def topic_partitions(port: int, topic: str) -> dict[int, PartitionState]:
    """The partitions of a topic by number, as the broker at a local port knows them; empty if it does not know it."""
    request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    (found,) = _topics(_ask(port, request)).values()
    return found


def all_topics(port: int) -> dict[str, dict[int, PartitionState]]:
    """The same of every topic, by name."""
    return _topics(_ask(port, MetadataRequest(None)))


def live_brokers(port: int) -> set[int]:
    """The unfenced brokers, as the broker at a local port knows them."""
    return {broker.node_id for broker in _ask(port, MetadataRequest([])).brokers}


def await_in_sync(ports: Iterable[int], brokers: Iterable[int]) -> None:
    """Wait until the broker at each port knows all brokers, and every replica of every topic is in sync."""
    for port in ports:
        becomes(lambda port=port: live_brokers(port), set(brokers), refusals=_NO_ANSWER)
        becomes(lambda port=port: _lagging(port), {}, refusals=_NO_ANSWER)


def _lagging(port: int) -> dict[str, set[int]]:
    """Replicas that are not in sync, by partition."""
    return {
        f"{topic}-{number}": behind
        for topic, partitions in all_topics(port).items()
        for number, one in partitions.items()
        if (behind := set(one.replicas) - one.in_sync)
    }


def _topics(reported: MetadataResponse) -> dict[str, dict[int, PartitionState]]:
    return {
        topic.name or "": {
            one.partition_index: PartitionState(one.leader_id, tuple(one.replica_nodes), frozenset(one.isr_nodes))
            for one in topic.partitions
        }
        for topic in reported.topics
    }


def _ask(port: int, request: MetadataRequest) -> MetadataResponse:
    connection = Connection(role=Role.CLIENT, client_id="tests")
    _, data = connection.send_request(request, _VERSION)
    with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_S) as sock:
        sock.sendall(data)
        while received := sock.recv(1 << 16):
            for event in connection.receive_data(received):
                assert isinstance(event, ResponseReceived)
                message = event.message()
                assert isinstance(message, MetadataResponse)
                return message
    raise AssertionError(f"the broker at port {port} has closed the connection")
