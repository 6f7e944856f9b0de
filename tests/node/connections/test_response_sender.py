"""Large responses are made and sent over many steps."""

import pytest
from node_network import BROKER_LISTENER
from serving_cluster import BROKER_ID, a_cluster

from falkirk.metadata.requests.request_context import RequestContext
from falkirk.node.config.node_config import Listener
from falkirk.node.connections.client_connection import ClientConnection, OpenRequest
from falkirk.node.connections.client_connections import ClientConnections
from falkirk.node.connections.client_usage import AddressUsage
from falkirk.node.connections.response_sender import ResponseSender
from falkirk.node.sliced_work import SlicedWorks
from falkirk.protocol.codec import decode, encode
from falkirk.protocol.connection import Connection, RequestReceived, Role
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    FindCoordinatorRequest,
)
from falkirk.protocol.messages.describe_producers_request import TopicRequest
from falkirk.protocol.messages.describe_producers_response import PartitionResponse, TopicResponse
from falkirk.simulation.machine.step_costs import StepCosts

COUNT = 5_000
VERSION = 0
LARGE_BYTES = 4_096
ENDPOINT = Endpoint("127.0.0.1", 9092)


class Clients(ClientConnections):
    """Records what is sent."""

    def __init__(self):
        self.sent = []
        self.closed = []

    def answer(self, _request, message, *, is_in_pieces):
        assert not is_in_pieces
        self.sent.append(encode(message, VERSION))

    def answer_encoded(self, _request, pieces):
        self.sent.append(b"".join(pieces))

    def close_client(self, _client, event, reason):
        self.closed.append((event, reason))


class World:
    """A sender, and a large or small request to it."""

    def __init__(self, *, is_large=True):
        self.clients, self.effects = Clients(), []
        self.works = SlicedWorks(lambda: None)
        api_key = DescribeProducersRequest.SCHEMA.info.key
        self.client = ClientConnection(
            connection_id=1,
            listener=Listener(
                name=BROKER_LISTENER,
                security_protocol="PLAINTEXT",
                endpoint=ENDPOINT,
                advertised=ENDPOINT,
                is_controller=False,
            ),
            client_host="127.0.0.1",
            connection=Connection(role=Role.SERVER, supported={}, frame_bytes_max=1 << 20),
            ranges={},
            usage=AddressUsage(),
        )
        self.request = OpenRequest(
            client=self.client,
            request=RequestReceived(
                api_key=api_key,
                api_version=VERSION,
                correlation_id=1,
                client_id=None,
                frame=bytes(LARGE_BYTES if is_large else 1),
                body_start=0,
                sequence=0,
            ),
            context=RequestContext(api_key=api_key, api_version=VERSION),
            message=DescribeProducersRequest([TopicRequest("t", (0,))]),
        )
        self.sender = ResponseSender(self.clients, self.effects.append, now_ms=lambda: 0, works=self.works)

    def send(self, make, count=COUNT):
        partitions = mapped_array(make, range(count))
        self.sender.send(self.request, DescribeProducersResponse(topics=mapped_array(topic_of, [partitions])))

    def progress(self):
        """Do all slices; return how many there were."""
        count = 0
        while self.works.is_busy:
            self.works.progress()
            count += 1
        return count


def topic_of(partitions):
    return TopicResponse("t", partitions)


def test_a_large_response_is_sent_after_many_slices_as_it_would_be_at_once():
    world, at_once = World(), World(is_large=False)
    for one in (world, at_once):
        one.send(PartitionResponse)
    assert len(at_once.clients.sent) == 1
    assert world.clients.sent == []
    assert world.progress() >= COUNT // 1024
    assert world.clients.sent == at_once.clients.sent
    response = decode(DescribeProducersResponse, VERSION, world.clients.sent[0])
    assert [each.partition_index for each in response.topics[0].partitions] == list(range(COUNT))


@pytest.mark.parametrize("count", [COUNT, 8 * COUNT])
def test_no_slice_makes_more_elements_however_many_there_are(count):
    world, made, most = World(), [], 0

    def make(number):
        made.append(number)
        return PartitionResponse(number)

    world.send(make, count)
    most = len(made)
    while world.works.is_busy:
        before = len(made)
        world.works.progress()
        most = max(most, len(made) - before)
    assert len(made) == count
    assert most <= 1_100


def test_an_element_that_fails_in_a_later_slice_is_answered_as_a_handler_that_fails():
    world = World()

    def make(number):
        if number == COUNT - 1:
            raise RuntimeError("a bug")
        return PartitionResponse(number)

    world.send(make)
    world.progress()
    assert [fact.event for fact in world.effects] == ["handler-failed"]
    (sent,) = world.clients.sent
    (topic,) = decode(DescribeProducersResponse, VERSION, sent).topics
    assert [each.error_code for each in topic.partitions] == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_what_the_wire_cannot_hold_in_a_later_slice_closes_the_connection():
    world = World()
    world.send(lambda number: PartitionResponse(number if number < COUNT - 1 else 1 << 40))
    world.progress()
    assert world.clients.sent == []
    assert [fact.event for fact in world.effects] == ["response-cannot-be-written"]
    assert world.clients.closed == [("connection-closed", "no DescribeProducersResponse v0 can be written")]


def test_nothing_more_is_made_for_a_client_that_has_gone():
    world, made = World(), []

    def make(number):
        made.append(number)
        return PartitionResponse(number)

    world.send(make)
    before = len(made)
    world.client.is_closed = True
    world.progress()
    assert len(made) == before < COUNT
    assert world.clients.sent == []


def largest_step_after_the_first(cluster, count):
    """Return what the largest step costs in which a broker answers for groups, but that in which the request comes."""
    client = cluster.client(BROKER_ID, BROKER_LISTENER)
    names = tuple(f"group-{number:06}" for number in range(count))
    node, costs, measured = cluster.hosts[BROKER_ID].running, StepCosts(), []
    step = node.step

    def counted(events, now_ms):
        effects = costs.measure(lambda: step(events, now_ms))
        measured.append(costs.last.us)
        return effects

    node.step = counted
    try:
        response = client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=names), 6)
    finally:
        del node.step
    assert [each.key for each in response.coordinators] == list(names)
    measured.remove(max(measured))
    return max(measured, default=0)


@pytest.mark.slow
def test_the_longest_step_of_an_answer_does_not_grow_with_it():
    cluster = a_cluster("4.4")
    largest_step_after_the_first(cluster, 100)
    few, many = (largest_step_after_the_first(cluster, count) for count in (4_000, 16_000))
    assert many < 1.5 * few
