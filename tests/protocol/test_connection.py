from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.protocol import codec
from falkirk.protocol.connection import (
    Connection,
    RequestReceived,
    ResponseReceived,
    Role,
    UnservedRequestReceived,
    UnsupportedVersionReceived,
    known_answer,
    known_request_key,
    read_request,
    request_bytes,
)
from falkirk.protocol.errors import LocalProtocolError, RemoteProtocolError
from falkirk.protocol.frame import frame
from falkirk.protocol.known_answer import KnownRequestsAnswered
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    ControlledShutdownRequest,
    RequestHeader,
    VoteRequest,
    VoteResponse,
)
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release

CONTROLLER = Release.parse("4.3").api_ranges(Listener.CONTROLLER)


def server(**settings):
    return Connection(role=Role.SERVER, supported=settings.pop("supported", CONTROLLER), **settings)


def client(client_id="me"):
    return Connection(role=Role.CLIENT, client_id=client_id)


def unsupported_api_versions(version, *, client_id="new"):
    return codec.encode(RequestHeader(18, version, 9, client_id), 2) + b"whatever the future brings"


@pytest.mark.parametrize("client_id", [None, "", "me"])
@pytest.mark.parametrize(("version", "kind"), [(0, ApiVersionsRequest), (3, ApiVersionsRequest), (2, VoteRequest)])
def test_a_request_arrives_as_it_was_sent(client_id, version, kind):
    sender, receiver = client(client_id), server()
    message = kind()
    correlation_id, data = sender.send_request(message, version)
    (event,) = receiver.receive_data(data)
    assert (event.api_version, event.correlation_id, event.client_id) == (version, correlation_id, client_id)
    assert event.message() == message
    assert bytes(event.body) == codec.encode(message, version)


def test_the_oldest_request_has_no_client_id():
    (event,) = server(supported={7: range(4)}).receive_data(
        client().send_request(ControlledShutdownRequest(broker_id=3), 0)[1]
    )
    assert (event.client_id, event.message()) == ("", ControlledShutdownRequest(broker_id=3))


def test_an_answer_arrives_at_its_request():
    sender, receiver = client(), server()
    for version, answer in ((0, BrokerHeartbeatResponse(is_fenced=False)), (1, BrokerHeartbeatResponse(error_code=7))):
        correlation_id, data = sender.send_request(BrokerHeartbeatRequest(broker_id=3), version)
        (request,) = receiver.receive_data(data)
        (event,) = sender.receive_data(receiver.send_response(request, answer))
        assert event.correlation_id == correlation_id
        assert event.message() == answer
    assert (sender.open_requests, receiver.open_requests) == (0, 0)


@given(st.permutations(range(6)), st.lists(st.integers(0, 800), max_size=20))
def test_answers_leave_in_the_order_of_the_requests_in_whatever_order_they_are_given(order, cuts):
    sender, receiver = client(), server()
    sent = b"".join(sender.send_request(VoteRequest(cluster_id=str(at)), 2)[1] for at in range(6))
    borders = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    requests = [event for start, end in pairwise(borders) for event in receiver.receive_data(sent[start:end])]
    assert [request.message().cluster_id for request in requests] == list("012345")
    answers = b""
    for done, at in enumerate(order):
        answers += receiver.send_response(requests[at], VoteResponse(error_code=at))
        given_so_far = set(order[: done + 1])
        assert receiver.open_requests == 6 - next((at for at in range(6) if at not in given_so_far), 6)
    received = sender.receive_data(answers)
    assert [(event.correlation_id, event.message().error_code) for event in received] == [(at, at) for at in range(6)]


def test_a_request_that_wants_no_answer_does_not_hold_up_the_next():
    sender, receiver = client(), server()
    data = sender.send_request(VoteRequest(), 0)[1] + sender.send_request(VoteRequest(), 0)[1]
    first, second = receiver.receive_data(data)
    assert receiver.send_body(second, b"body") == b""
    assert receiver.send_nothing(first) == frame((1).to_bytes(4, "big"), b"\0body")


def test_a_request_is_answered_once():
    sender, receiver = client(), server()
    first, second = receiver.receive_data(
        sender.send_request(VoteRequest(), 0)[1] + sender.send_request(VoteRequest(), 0)[1]
    )
    receiver.send_response(second, VoteResponse())
    with pytest.raises(LocalProtocolError, match="request 1 of this connection is not open"):
        receiver.send_response(second, VoteResponse())
    receiver.send_response(first, VoteResponse())
    with pytest.raises(LocalProtocolError, match="request 0 of this connection is not open"):
        receiver.send_response(first, VoteResponse())


def ask_for_versions(name="tester"):
    return ApiVersionsRequest(name, "1.0")


def known_answers(*names):
    """Make the answers known that `body_of` gives to these."""
    known = {}
    for name in names:
        (event,) = server().receive_data(client().send_request(ask_for_versions(name), 4)[1])
        known[known_request_key(event)] = known_answer(event, event.message(), body_of(event))
    return known


def body_of(event):
    return f"for {event.message().client_software_name}".encode()


def test_a_known_request_is_answered_unread_under_its_own_correlation_id():
    sender, receiver = client(), server(known_answers=known_answers("known"))
    data = b"".join(sender.send_request(ask_for_versions("known"), 4)[1] for _ in range(3))
    (event,) = receiver.receive_data(data)
    assert (event.count, event.request, receiver.open_requests) == (3, ask_for_versions("known"), 0)
    assert [(answer.correlation_id, bytes(answer.body)) for answer in sender.receive_data(event.data)] == [
        (at, b"for known") for at in range(3)
    ]


def test_a_known_request_behind_an_open_one_waits_for_its_turn():
    sender, receiver = client(), server(known_answers=known_answers("known"))
    data = sender.send_request(VoteRequest(), 0)[1] + sender.send_request(ask_for_versions("known"), 4)[1]
    first, second = receiver.receive_data(data)
    assert isinstance(second, RequestReceived)
    (third,) = receiver.receive_data(sender.send_request(ask_for_versions("known"), 4)[1])
    assert isinstance(third, RequestReceived)
    assert receiver.send_body(second, b"2") == b""
    assert len(sender.receive_data(receiver.send_body(first, b"1"))) == 2


def test_an_answer_that_is_no_longer_known_is_given_no_more():
    known = known_answers("known")
    sender, receiver = client(), server(known_answers=known)
    known.clear()
    (event,) = receiver.receive_data(sender.send_request(ask_for_versions("known"), 4)[1])
    assert isinstance(event, RequestReceived)


@given(st.lists(st.sampled_from(["known", "new", "other"]), max_size=8), st.lists(st.integers(0, 500), max_size=12))
def test_what_is_known_changes_no_byte_of_the_answers(names, cuts):
    sender = client()
    sent = b"".join(sender.send_request(ask_for_versions(name), 4)[1] for name in names)
    borders = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]

    def answers(receiver):
        given_bytes = b""
        for start, end in pairwise(borders):
            for event in receiver.receive_data(sent[start:end]):
                is_known = isinstance(event, KnownRequestsAnswered)
                given_bytes += event.data if is_known else receiver.send_body(event, body_of(event))
        return given_bytes

    assert answers(server(known_answers=known_answers("known", "other"))) == answers(server())


@pytest.mark.parametrize("version", [5, 6, 32767])
def test_api_versions_of_a_version_to_come_is_told_with_its_correlation_id(version):
    receiver = server()
    (event,) = receiver.receive_data(frame(unsupported_api_versions(version)))
    assert event == UnsupportedVersionReceived(version, 9, "new", 0)
    answer = receiver.send_response(event, ApiVersionsResponse(error_code=35))
    assert answer == frame(b"\0\0\0\x09", codec.encode(ApiVersionsResponse(error_code=35), 0))


def test_api_versions_below_zero_is_told_too():
    received = codec.encode(RequestHeader(18, -1, 9, "odd"), 1)
    assert server().receive_data(frame(received)) == [UnsupportedVersionReceived(-1, 9, "odd", 0)]


@pytest.mark.parametrize("asked", [0, 3, 5])
def test_a_client_reads_the_refusal_of_its_api_versions_as_version_0(asked):
    sender = client()
    _, data = sender.send_request(ApiVersionsRequest(), asked)
    (request,) = server(supported={18: range(asked)}).receive_data(data)
    refusal = codec.encode(ApiVersionsResponse(error_code=35), 0)
    (event,) = sender.receive_data(frame(request.correlation_id.to_bytes(4, "big"), refusal))
    assert isinstance(event, ResponseReceived)
    assert (event.response_version, event.message().error_code) == (0, 35)


@pytest.mark.parametrize(
    ("key", "version"), [(52, 99), (52, -1), (9999, 0), (-1, 0), (0, 3)], ids=["high", "low", "key", "minus", "broker"]
)
def test_an_api_or_version_that_is_not_served_is_told_and_ends_the_reading(key, version):
    receiver = server()
    good = request_bytes(VoteRequest(), 2, correlation_id=0, client_id="")
    stranger = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + b"rest"
    first, second = receiver.receive_data(frame(good) + frame(stranger) + frame(good))
    assert isinstance(first, RequestReceived)
    assert second == UnservedRequestReceived(key, version)
    assert receiver.receive_data(frame(good)) == []


def test_api_versions_is_unserved_where_it_is_not_offered():
    (event,) = server(supported={52: range(3)}).receive_data(frame(unsupported_api_versions(3)))
    assert event == UnservedRequestReceived(18, 3)


@pytest.mark.parametrize("received", [b"", b"\0", b"\0\x12\0", b"\0\x12\0\0\0\0\0", b"\0\x12\0\0\0\0\0\0\x7f\xff"])
def test_a_header_that_does_not_parse_is_refused_with_its_place_in_the_stream(received):
    receiver = server()
    good = frame(request_bytes(VoteRequest(), 2, correlation_id=0, client_id=""))
    receiver.receive_data(good)
    with pytest.raises(RemoteProtocolError) as refused:
        receiver.receive_data(frame(received))
    assert len(good) + 4 <= refused.value.offset <= len(good) + 4 + len(received)
    assert receiver.receive_data(good) == []


def test_a_header_with_very_many_tagged_fields_is_refused_unread():
    tags = tuple((number, b"") for number in range(100))
    header = RequestHeader(52, 2, 9, "me", unknown_tagged_fields=tags)
    with pytest.raises(RemoteProtocolError, match="more elements"):
        server().receive_data(frame(codec.encode(header, 2)))


def test_a_body_too_short_is_refused_when_it_is_decoded():
    received = request_bytes(VoteRequest(), 2, correlation_id=0, client_id="")[:-1]
    (event,) = server().receive_data(frame(received))
    with pytest.raises(RemoteProtocolError):
        event.message()


def test_bytes_left_over_behind_a_request_are_ignored_as_by_kafka():
    received = request_bytes(VoteRequest(voter_id=5), 2, correlation_id=0, client_id="") + b"\0\1\2"
    (event,) = server().receive_data(frame(received))
    assert event.message() == VoteRequest(voter_id=5)


def test_answers_that_nobody_asked_for_are_refused():
    with pytest.raises(RemoteProtocolError, match="a response without a request"):
        client().receive_data(frame(b"\0\0\0\0"))
    sender = client()
    sender.send_request(VoteRequest(), 0)
    with pytest.raises(RemoteProtocolError, match="an answer to request 5; the next must be to 0"):
        sender.receive_data(frame(b"\0\0\0\x05\0"))


def test_a_server_sends_no_requests_and_a_client_only_requests():
    with pytest.raises(LocalProtocolError):
        server().send_request(VoteRequest(), 0)
    with pytest.raises(LocalProtocolError):
        client().send_request(VoteResponse(), 0)
    with pytest.raises(LocalProtocolError):
        client().send_request(VoteRequest(), 99)
    sender = client()
    with pytest.raises(LocalProtocolError):
        sender.send_request(VoteRequest(), 99)
    assert (sender.open_requests, sender.send_request(VoteRequest(), 0)[0]) == (0, 0)


def test_a_request_in_an_envelope_is_read_by_itself():
    received = request_bytes(VoteRequest(cluster_id="c"), 1, correlation_id=77, client_id=None)
    event = read_request(received, CONTROLLER)
    assert (event.correlation_id, event.client_id, event.message()) == (77, None, VoteRequest(cluster_id="c"))


def test_a_body_of_a_layout_of_its_own_goes_both_ways():
    from falkirk.protocol.messages import ReadShareGroupStateSummaryRequest, ReadShareGroupStateSummaryResponse

    sender, receiver = client(), server(supported={87: range(1)})
    (request,) = receiver.receive_data(sender.send_request(ReadShareGroupStateSummaryRequest(), 0)[1])
    answer = ReadShareGroupStateSummaryResponse()
    (event,) = sender.receive_data(receiver.send_response(request, answer, layout=0))
    assert event.message(layout=0) == answer


@given(st.binary(max_size=200), st.integers(0, 200))
def test_garbage_is_refused_or_tells_nothing_and_never_raises_anything_else(garbage, cut):
    for receiver in (server(frame_bytes_max=1000), client()):
        try:
            for piece in (garbage[:cut], garbage[cut:]):
                receiver.receive_data(piece)
        except RemoteProtocolError:
            assert receiver.receive_data(garbage) == []


def test_damaged_requests_of_every_api_are_refused_or_read():
    random = Random(35)
    from falkirk.protocol.messages import REQUESTS, message_class

    supported = {key: message_class(name).SCHEMA.info.versions for key, name in REQUESTS.items()}
    for key, versions in supported.items():
        for version in versions:
            good = request_bytes(message_class(REQUESTS[key])(), version, correlation_id=1, client_id="x")
            for _ in range(4):
                damaged = bytearray(good)
                at = random.randrange(4, len(damaged))
                damaged[at : at + random.randrange(3)] = random.randbytes(random.randrange(5))
                try:
                    for event in server(supported=supported).receive_data(frame(bytes(damaged))):
                        event.message()
                except RemoteProtocolError:
                    continue
