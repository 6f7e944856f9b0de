"""Connections to other nodes, against a peer that is played by hand."""

from __future__ import annotations

from random import Random

import pytest

from falkirk.node.connections.outbound_connections import (
    QUEUED_REQUESTS_MAX,
    RECONNECT_BACKOFF_MAX_MS,
    OutboundConnections,
    RequestFailure,
)
from falkirk.node.effects import Close, Connect, Send
from falkirk.protocol.connection import Connection, RequestReceived, Role, UnsupportedVersionReceived
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    VoteRequest,
)
from falkirk.protocol.messages.api_versions_response import ApiVersion
from falkirk.protocol.messages.vote_request import PartitionData, TopicData
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange

PEER = Endpoint("peer", 9093)


class Player:
    """The other side: keeps what was connected and sent, answers when it is told to."""

    def __init__(
        self, release: str = "4.3", offered: dict[int, tuple[int, int]] | None = None, logins: dict | None = None
    ) -> None:
        self.effects = []
        self.offered = offered or {1: (4, 17), 18: (0, 4), 52: (0, 2)}
        self.answers = []
        self.now_ms = 1000
        self.connection = None
        self.connection_id = None
        self.asked = []
        self.peers = OutboundConnections(
            Release.parse(release),
            node_id=7,
            listener="CONTROLLER",
            effects=self.effects.append,
            setup_timeout_ms=500,
            idle_ms_max=60_000,
            logins=logins or {},
            random=Random(1),
        )

    def send(self, message=None, timeout_ms: int = 10_000, **fields) -> None:
        times = {"timeout_ms": timeout_ms, "now_ms": self.now_ms, **fields}
        self.peers.send("raft", PEER, message or FetchRequest(), done=self.answers.append, **times)

    def pass_time(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        self.peers.tick(self.now_ms)

    def accept(self) -> None:
        """Let the connection stand that was asked for last."""
        (connect,) = self.take(Connect)
        self.connection_id = connect.connection_id
        supported = {key: range(low, high + 1) for key, (low, high) in self.offered.items()}
        self.connection = Connection(role=Role.SERVER, supported=supported)
        self.peers.opened(self.connection_id, self.now_ms)
        self.read()

    def refuse(self) -> None:
        (connect,) = self.take(Connect)
        self.peers.lost(connect.connection_id, "connection refused", self.now_ms)

    def lose(self) -> None:
        self.peers.lost(self.connection_id, "connection reset", self.now_ms)

    def read(self) -> None:
        for send in self.take(Send):
            self.asked += self.connection.receive_data(send.data)

    def answer(self, message) -> None:
        self.read()
        data = self.connection.send_response(self.asked.pop(0), message)
        self.peers.received(self.connection_id, data, self.now_ms)
        self.read()

    def negotiate(self) -> None:
        self.accept()
        self.answer(self.versions())

    def versions(self, error_code: int = 0) -> ApiVersionsResponse:
        return ApiVersionsResponse(
            error_code=error_code, api_keys=[ApiVersion(key, low, high) for key, (low, high) in self.offered.items()]
        )

    def take(self, kind) -> list:
        taken = [effect for effect in self.effects if isinstance(effect, kind)]
        self.effects[:] = [effect for effect in self.effects if not isinstance(effect, kind)]
        return taken


def test_a_request_waits_for_connection_and_versions_and_goes_in_the_highest_that_both_have():
    player = Player()
    player.send()
    player.accept()
    assert [request.api_key for request in player.asked] == [18]

    player.answer(player.versions())

    (request,) = player.asked
    assert (request.api_key, request.api_version) == (1, 17)
    player.answer(FetchResponse())
    assert player.answers == [FetchResponse()]


def test_the_node_tells_its_software_so_that_real_servers_accept_the_question():
    player = Player()
    player.send()
    player.accept()

    (request,) = player.asked
    message = request.message()
    assert (message.client_software_name, message.client_software_version) == ("falkirk", "4.3.1")


def test_a_version_of_api_versions_that_the_peer_lacks_is_asked_anew_in_one_that_it_has():
    player = Player(offered={1: (4, 17), 18: (0, 2)})
    player.send()
    player.accept()
    (first,) = player.asked
    assert isinstance(first, UnsupportedVersionReceived)

    player.answer(player.versions(ErrorCode.UNSUPPORTED_VERSION))

    (second,) = player.asked
    assert isinstance(second, RequestReceived)
    assert second.api_version == 2


def test_a_peer_that_tells_no_versions_with_its_refusal_is_asked_in_version_0():
    player = Player(offered={1: (4, 17), 18: (0, 0)})
    player.send()
    player.accept()

    player.answer(ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))

    assert [request.api_version for request in player.asked] == [0]


def test_versions_are_negotiated_anew_after_a_reconnect():
    player = Player()
    player.send()
    player.negotiate()
    player.answer(FetchResponse())
    player.lose()
    player.offered = {1: (4, 16), 18: (0, 4)}
    player.pass_time(1000)

    player.send()
    player.negotiate()

    assert [request.api_version for request in player.asked] == [16]


def test_an_api_that_the_peer_does_not_know_fails_as_unsupported_and_others_go_on():
    player = Player(offered={1: (4, 17), 18: (0, 4)})
    player.send(VoteRequest())
    player.send()
    player.negotiate()

    (failure,) = player.answers
    assert failure.is_unsupported_version
    assert [request.api_key for request in player.asked] == [1]


def test_a_request_that_the_common_version_cannot_say_fails_as_unsupported():
    player = Player(offered={18: (0, 4), 52: (0, 1)})
    player.send(VoteRequest(topics=[TopicData("t", [PartitionData(pre_vote=True)])]))

    player.negotiate()

    (failure,) = player.answers
    assert failure.is_unsupported_version


def test_one_request_at_a_time_is_under_way_and_the_others_follow_in_order():
    player = Player()
    for max_bytes in (1, 2, 3):
        player.send(FetchRequest(max_bytes=max_bytes))
    player.negotiate()

    seen = []
    while player.asked:
        assert len(player.asked) == 1
        seen.append(player.asked[0].message().max_bytes)
        player.answer(FetchResponse())

    assert seen == [1, 2, 3]


def test_requests_fail_when_no_connection_can_be_had():
    player = Player()
    player.send()
    player.send()

    player.refuse()

    assert player.answers == [RequestFailure("connection refused")] * 2


def test_a_peer_is_not_asked_again_before_the_backoff_is_over_which_grows_to_a_limit():
    player = Player()
    waits = []
    for _ in range(8):
        player.send()
        began_ms = player.now_ms
        while not [effect for effect in player.effects if isinstance(effect, Connect)]:
            player.pass_time(1)
        waits.append(player.now_ms - began_ms)
        player.refuse()

    assert waits[0] == 0
    assert waits == sorted(waits)
    assert waits[-1] == RECONNECT_BACKOFF_MAX_MS


def test_what_waits_is_sent_once_the_backoff_is_over():
    player = Player()
    player.send()
    player.refuse()
    player.send()
    assert player.take(Connect) == []

    assert player.peers.next_wakeup_ms > player.now_ms
    player.pass_time(player.peers.next_wakeup_ms - player.now_ms)

    player.negotiate()
    assert [request.api_key for request in player.asked] == [1]


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_request_that_is_put_off_is_sent_when_its_time_has_come(is_connected):
    player = Player()
    if is_connected:
        player.send()
        player.negotiate()
        player.answer(FetchResponse())
    player.send(delay_ms=300)
    assert (player.take(Connect), player.take(Send)) == ([], [])

    assert player.peers.next_wakeup_ms == player.now_ms + 300
    player.pass_time(299)
    assert (player.take(Connect), player.take(Send)) == ([], [])
    player.pass_time(1)

    if not is_connected:
        player.negotiate()
    player.read()
    assert [request.api_key for request in player.asked] == [1]


def test_a_request_that_is_put_off_beyond_its_time_fails():
    player = Player()
    player.send(timeout_ms=200, delay_ms=300)
    player.pass_time(200)
    assert player.answers == [RequestFailure(f"no connection to {PEER} in time")]


def test_a_request_that_is_not_answered_in_time_costs_the_connection_and_those_behind_it_go_on_another():
    player = Player()
    player.send(timeout_ms=100)
    player.send(timeout_ms=10_000)
    player.negotiate()
    assert player.peers.next_wakeup_ms == player.now_ms + 100

    player.pass_time(100)

    assert len(player.answers) == 1
    assert isinstance(player.answers[0], RequestFailure)
    assert player.take(Close) == [Close(player.connection_id)]
    player.asked.clear()
    player.pass_time(1000)
    player.negotiate()
    player.answer(FetchResponse())
    assert player.answers[1] == FetchResponse()


def test_a_connection_that_does_not_stand_in_time_is_given_up():
    player = Player()
    player.send()
    assert player.peers.next_wakeup_ms == player.now_ms + 500

    player.pass_time(500)

    assert [type(answer) for answer in player.answers] == [RequestFailure]
    assert len(player.take(Close)) == 1


def test_a_peer_that_does_not_tell_its_versions_in_time_is_given_up():
    player = Player()
    player.send()
    player.accept()

    player.pass_time(500)

    assert [type(answer) for answer in player.answers] == [RequestFailure]


def test_garbage_from_a_peer_costs_the_connection():
    player = Player()
    player.send()
    player.negotiate()

    player.peers.received(player.connection_id, b"\0\0\0\x08garbage!", player.now_ms)

    assert [type(answer) for answer in player.answers] == [RequestFailure]
    assert player.take(Close) == [Close(player.connection_id)]


def test_an_answer_that_comes_after_the_connection_was_given_up_is_nobodys():
    player = Player()
    player.send(timeout_ms=100)
    player.negotiate()
    late = player.connection.send_response(player.asked.pop(), FetchResponse())
    player.pass_time(100)

    player.peers.received(player.connection_id, late, player.now_ms)

    assert len(player.answers) == 1


def test_an_error_in_the_versions_answer_costs_the_connection():
    player = Player()
    player.send()
    player.accept()

    player.answer(ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST))

    assert [type(answer) for answer in player.answers] == [RequestFailure]


def test_what_may_wait_for_a_peer_is_limited():
    player = Player()
    for _ in range(QUEUED_REQUESTS_MAX):
        player.send()
    assert player.answers == []

    player.send()

    assert [type(answer) for answer in player.answers] == [RequestFailure]


def test_an_idle_connection_is_closed_and_the_next_request_opens_another():
    player = Player()
    player.send()
    player.negotiate()
    player.answer(FetchResponse())

    player.pass_time(60_000)
    assert player.take(Close) == [Close(player.connection_id)]

    player.send()
    player.negotiate()
    assert [request.api_key for request in player.asked] == [1]


def test_connections_that_the_node_opens_have_odd_numbers_that_are_never_used_again():
    player = Player()
    numbers = []
    for _ in range(5):
        player.send()
        numbers += [effect.connection_id for effect in player.effects if isinstance(effect, Connect)]
        player.refuse()
        player.pass_time(1000)

    assert numbers == [1, 3, 5, 7, 9]


def test_purposes_have_connections_of_their_own():
    player = Player()
    player.send()
    player.peers.send(
        "heartbeat", PEER, FetchRequest(), timeout_ms=100, now_ms=player.now_ms, done=player.answers.append
    )

    assert len(player.take(Connect)) == 2


def test_the_versions_of_a_peer_are_known_while_it_is_connected():
    player = Player()
    player.peers.connect("raft", PEER, player.now_ms)
    assert player.peers.ranges("raft", PEER) is None

    player.negotiate()
    assert player.peers.ranges("raft", PEER)[1] == SupportedRange(4, 17)

    player.lose()
    assert player.peers.ranges("raft", PEER) is None


@pytest.mark.parametrize("release", ["3.7", "4.4"])
def test_versions_are_asked_in_the_newest_that_the_release_has(release):
    player = Player(release=release, offered={18: (0, 5)})
    player.send()
    player.accept()

    (request,) = player.asked
    assert isinstance(request.message(), ApiVersionsRequest)
    assert request.api_version == Release.parse(release).apis[18].versions.highest


def test_a_request_goes_in_no_higher_version_than_it_may_and_is_fitted_to_it():
    player = Player()
    fitted = []
    player.peers.send(
        "fetcher-1",
        PEER,
        FetchRequest(),
        timeout_ms=1_000,
        now_ms=player.now_ms,
        done=player.answers.append,
        fit=lambda message, version: fitted.append((type(message), version)),
        version_max=16,
    )

    player.negotiate()

    assert fitted == [(FetchRequest, 16)]
    assert [request.api_version for request in player.asked] == [16]
