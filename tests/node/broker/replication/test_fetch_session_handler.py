"""A follower's fetch sessions: what is told again, and when all is (KIP-227)."""

from __future__ import annotations

import pytest

from falkirk.node.broker.replication.fetch_session_handler import FetchSessionHandler, RequestedPartition
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchResponse
from falkirk.protocol.topic_partition import TopicIdPartition

A = TopicIdPartition(b"a" * 16, "a", 0)
B = TopicIdPartition(b"a" * 16, "a", 1)
C = TopicIdPartition(b"c" * 16, "c", 0)


def requested(offset: int) -> RequestedPartition:
    return RequestedPartition(offset, 0, 1_000, 3, 2)


def a_session() -> FetchSessionHandler:
    """Return a session that the leader keeps, of A and C."""
    session = FetchSessionHandler()
    session.next_request({A: requested(0), C: requested(0)})
    assert session.receive_response(FetchResponse(session_id=77))
    return session


def test_the_first_request_tells_everything_and_asks_for_a_session():
    session = FetchSessionHandler()
    assert (session.session_id, session.epoch) == (0, 0)

    topics, _ = session.next_request({A: requested(5), B: requested(6), C: requested(7)})

    assert [(topic.topic, [one.fetch_offset for one in topic.partitions]) for topic in topics] == [
        ("a", [5, 6]),
        ("c", [7]),
    ]
    assert topics[0].partitions[0].current_leader_epoch == 3
    assert topics[0].partitions[0].last_fetched_epoch == 2


def test_later_requests_tell_what_has_changed_what_is_new_and_what_is_gone():
    session = a_session()
    assert (session.session_id, session.epoch, session.is_full) == (77, 1, False)

    topics, forgotten = session.next_request({A: requested(0), B: requested(4), C: None})

    assert [(topic.topic, [one.partition for one in topic.partitions]) for topic in topics] == [("a", [1])]
    assert [(one.topic_id, one.partitions) for one in forgotten] == [(C.topic_id, (0,))]
    assert session.next_request({A: requested(0), C: None}) == ([], [])


def test_every_answer_takes_the_session_on():
    session = a_session()

    session.receive_response(FetchResponse(session_id=77))
    session.receive_response(FetchResponse(session_id=77))

    assert (session.session_id, session.epoch) == (77, 3)


@pytest.mark.parametrize(
    ("error", "session_id"),
    [(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0), (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 77)],
)
def test_a_session_that_is_lost_begins_anew(error, session_id):
    session = a_session()

    assert not session.receive_response(FetchResponse(error_code=error))

    assert (session.session_id, session.epoch, session.is_full) == (session_id, 0, True)


def test_a_leader_without_room_for_a_session_is_told_everything_each_time():
    session = FetchSessionHandler()
    session.next_request({A: requested(0)})

    assert session.receive_response(FetchResponse(session_id=0))

    assert session.is_full


def test_a_failure_begins_anew_with_the_old_id_so_that_the_leader_can_forget_it():
    session = a_session()

    session.failed()

    assert (session.session_id, session.epoch, session.is_full) == (77, 0, True)
