from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from falkirk.node.events import BytesReceived, ConnectionAccepted, ConnectionEvent, ConnectionLost
from falkirk.server.event_lane import PIECE_BYTES_MIN, EventLane

LIMIT = 16 * PIECE_BYTES_MIN


def between_requests(connection_id: int) -> int:
    return 0


def a_lane(*events: ConnectionEvent, missing_bytes: Callable[[int], int] = between_requests) -> EventLane:
    lane = EventLane(LIMIT, missing_bytes)
    for event in events:
        lane.add(event)
    return lane


def size(events: list[ConnectionEvent]) -> int:
    return sum(len(event.data) for event in events if isinstance(event, BytesReceived))


def test_what_is_not_too_much_is_taken_as_it_came() -> None:
    events = [ConnectionAccepted(2, "A", "host"), BytesReceived(4, bytes(LIMIT)), ConnectionLost(2, "gone")]
    lane = a_lane(*events)

    assert lane.pop() == events
    assert not lane.waiting
    assert lane.pop() == []


def test_one_that_sends_too_much_is_heard_in_pieces() -> None:
    data = bytes(range(256)) * (LIMIT // 100)
    lane = a_lane(BytesReceived(2, data), ConnectionLost(2, "gone"), missing_bytes=lambda _: 1)

    steps = [lane.pop()]
    while lane.waiting:
        steps.append(lane.pop())

    assert [size(step) for step in steps] == [LIMIT, LIMIT, len(data) - 2 * LIMIT]
    taken = [event for step in steps for event in step]
    assert b"".join(event.data for event in taken if isinstance(event, BytesReceived)) == data
    assert taken[-1] == ConnectionLost(2, "gone")


def test_a_request_is_heard_at_the_next_turn_however_much_others_send() -> None:
    flooding = range(2, 202, 2)
    lane = a_lane(*(BytesReceived(each, bytes(100 * PIECE_BYTES_MIN)) for each in flooding))
    lane.pop()
    lane.add(BytesReceived(1000, b"one request"))

    turns = 0
    while 1000 in lane.waiting or not turns:
        taken = lane.pop()
        turns += 1
        assert size(taken) <= LIMIT + PIECE_BYTES_MIN

    assert BytesReceived(1000, b"one request") in taken
    # Each of the hundred others has had one piece at most meanwhile.
    assert turns <= -(-len(flooding) * PIECE_BYTES_MIN // LIMIT) + 1


def a_large_request(size: int) -> bytes:
    return (size - 4).to_bytes(4, "big") + bytes(size - 4)


def test_a_large_request_is_heard_as_it_comes_and_counts_when_it_is_whole() -> None:
    request = a_large_request(10 * LIMIT)
    pieces = [BytesReceived(2, request[at : at + 2 * LIMIT]) for at in range(0, len(request), 2 * LIMIT)]
    other = BytesReceived(4, bytes(LIMIT))
    lane = a_lane(*pieces[:3])

    assert lane.pop() == pieces[:3]
    assert not lane.waiting

    lane = a_lane(*pieces[3:], other, missing_bytes={2: 4 * LIMIT, 4: 0}.__getitem__)
    assert lane.pop() == pieces[3:]
    assert lane.waiting == {4}
    assert lane.pop() == [other]


def test_what_follows_on_a_large_request_is_heard_in_pieces() -> None:
    missing = {2: 2 * LIMIT}
    lane = a_lane(BytesReceived(2, bytes(4 * LIMIT)), missing_bytes=missing.__getitem__)

    assert size(lane.pop()) == 2 * LIMIT
    missing[2] = 0
    assert [size(lane.pop()), size(lane.pop())] == [LIMIT, LIMIT]
    assert not lane.waiting


def test_a_length_in_the_middle_of_requests_is_none() -> None:
    misleading = bytes([0, 0, 0, 1]) + b"x" + a_large_request(100 * LIMIT)[: 3 * LIMIT]
    lane = a_lane(BytesReceived(2, misleading), missing_bytes=lambda _: 1)

    assert size(lane.pop()) == LIMIT


@given(
    missing=st.dictionaries(st.integers(1, 4), st.integers(0, 1000)),
    rounds=st.lists(
        st.lists(st.tuples(st.integers(1, 4), st.binary(min_size=1, max_size=300)), max_size=8), min_size=1, max_size=8
    ),
)
def test_each_connection_is_heard_whole_and_in_order(
    missing: dict[int, int], rounds: list[list[tuple[int, bytes]]]
) -> None:
    lane = EventLane(200, lambda connection_id: missing.get(connection_id, 0))
    sent: dict[int, bytes] = {}
    heard: dict[int, bytes] = {}

    def take() -> None:
        for event in lane.pop():
            assert isinstance(event, BytesReceived)
            assert event.data
            heard[event.connection_id] = heard.get(event.connection_id, b"") + event.data

    for events in rounds:
        for connection_id, data in events:
            lane.add(BytesReceived(connection_id, data))
            sent[connection_id] = sent.get(connection_id, b"") + data
        take()
    while lane.waiting:
        take()

    assert heard == sent
