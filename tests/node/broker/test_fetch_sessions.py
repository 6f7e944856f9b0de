"""Fetch sessions (KIP-227)."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from falkirk.node.broker.fetch_sessions import (
    EVICTION_MS,
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchPartitionKey,
    FetchSessions,
)
from falkirk.node.broker.replication.fetch_params import FetchPartition
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.fetch_response import EpochEndOffset, PartitionData
from falkirk.protocol.schema import ZERO_UUID
from falkirk.slices import exhaust

A = b"a" * 16


def key(partition, topic="t", topic_id=ZERO_UUID):
    return FetchPartitionKey(topic_id, topic, partition)


def asked(*keys, offset=0):
    return {each: FetchPartition(fetch_offset=offset, max_bytes=100) for each in keys}


def begin(sessions, session_id=0, epoch=INITIAL_EPOCH, *, partitions=None, forgotten=(), **fields):
    fields = {"uses_topic_ids": False, "is_follower": False, "now_ms": 0} | fields
    return sessions.begin(
        session_id=session_id,
        epoch=epoch,
        partitions=asked(key(0)) if partitions is None else partitions,
        forgotten=forgotten,
        **fields,
    )


def told(context, *, records=b"", high_watermark=0, names=None, **fields):
    """Answer a context, the same for all of its partitions."""
    results = {
        each: PartitionData(
            each.partition, high_watermark=high_watermark, log_start_offset=0, records=records, **fields
        )
        for each, _, _ in context.partitions(names or {})
    }
    return exhaust(context.answer_slices(results))


def new_session(sessions, *keys, **fields):
    """Make a session and return its id."""
    return told(begin(sessions, partitions=asked(*(keys or (key(0),))), **fields)).session_id


def fetched(context, names=None):
    """Return what is fetched, as partition numbers and offsets."""
    return [(each.partition, what.fetch_offset) for each, _, what in context.partitions(names or {})]


def test_a_full_fetch_makes_a_session_and_tells_all():
    sessions = FetchSessions(10, Random(1))
    answer = told(begin(sessions, partitions=asked(key(0), key(1))))
    assert answer.error is ErrorCode.NONE
    assert 0 < answer.session_id < 2**31
    assert list(answer.results) == [key(0), key(1)]
    assert sessions.get(answer.session_id).epoch == 1


def test_the_final_epoch_ends_a_session_and_makes_none():
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions)
    answer = told(begin(sessions, session_id, FINAL_EPOCH))
    assert (answer.session_id, list(answer.results), len(sessions)) == (NO_SESSION, [key(0)], 0)


def test_a_full_fetch_that_names_a_session_replaces_it():
    sessions = FetchSessions(10, Random(1))
    first = new_session(sessions)
    second = told(begin(sessions, first, INITIAL_EPOCH)).session_id
    assert (first != second, len(sessions), sessions.get(first)) == (True, 1, None)


def test_a_session_goes_on_with_what_changed():
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions, key(0), key(1))
    context = begin(sessions, session_id, 1, partitions=asked(key(1), key(2), offset=7), forgotten=[key(0)])
    assert fetched(context) == [(1, 7), (2, 7)]
    assert fetched(begin(sessions, session_id, 2, partitions={})) == [(1, 7), (2, 7)]


def test_only_news_are_told():
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions, key(0), key(1))
    news = [
        ({}, False),
        ({"high_watermark": 5}, True),
        ({"high_watermark": 5}, False),
        ({"high_watermark": 5, "records": b"x"}, True),
        ({"high_watermark": 5, "preferred_read_replica": 3}, True),
        ({"high_watermark": 5, "diverging_epoch": EpochEndOffset(0, 0)}, True),
        # A follower cannot use what it is told before it has cut its log.
        ({"high_watermark": 5}, True),
        ({"high_watermark": 5}, False),
        ({"high_watermark": -1, "error_code": ErrorCode.NOT_LEADER_OR_FOLLOWER}, True),
        ({"high_watermark": -1, "error_code": ErrorCode.NOT_LEADER_OR_FOLLOWER}, True),
        ({"high_watermark": 5}, True),
    ]
    for epoch, (fields, is_told) in enumerate(news, 1):
        answer = told(begin(sessions, session_id, epoch, partitions={}), **fields)
        assert (answer.session_id, set(answer.results)) == (session_id, {key(0), key(1)} if is_told else set()), epoch


def test_a_new_log_start_is_told():
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions)
    context = begin(sessions, session_id, 1, partitions={})
    results = {key(0): PartitionData(0, high_watermark=0, log_start_offset=3, records=b"")}
    assert exhaust(context.answer_slices(results)).results


def test_partitions_that_gave_data_go_to_the_end():
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions, key(0), key(1), key(2))
    context = begin(sessions, session_id, 1, partitions={})
    results = {
        each: PartitionData(each.partition, log_start_offset=0, records=b"x" if each.partition < 2 else b"")
        for each, _, _ in context.partitions({})
    }
    assert list(exhaust(context.answer_slices(results)).results) == [key(0), key(1)]
    assert [number for number, _ in fetched(begin(sessions, session_id, 2, partitions={}))] == [2, 0, 1]


def test_what_does_not_fit_the_session_is_refused():
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions)
    for context, error in (
        (begin(sessions, session_id + 1, 1), ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (begin(sessions, session_id, 2), ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (begin(sessions, session_id, 1, uses_topic_ids=True), ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ):
        assert list(context.partitions({})) == []
        assert told(context) == (error, NO_SESSION, {})
    assert told(begin(sessions, session_id, 1, partitions={})).error is ErrorCode.NONE


def test_an_answer_that_another_request_of_the_session_has_overtaken_is_refused():
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions)
    waiting = begin(sessions, session_id, 1, partitions={})
    begin(sessions, session_id, 2, partitions={})
    assert told(waiting) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id, {})


def test_a_session_without_partitions_ends():
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions)
    answer = told(begin(sessions, session_id, 1, partitions={}, forgotten=[key(0)]))
    assert (answer, len(sessions)) == ((ErrorCode.NONE, NO_SESSION, {}), 0)


def test_an_answer_of_a_session_that_has_ended_meanwhile_is_refused():
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions)
    waiting = begin(sessions, session_id, 1, partitions={})
    results = {each: PartitionData(each.partition, records=b"r") for each, _, _ in waiting.partitions({})}
    begin(sessions, session_id, 2, partitions={}, forgotten=[key(0)])
    answer = exhaust(waiting.answer_slices(results))
    assert answer == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id, {})


def test_the_epoch_wraps_around_to_one():
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions)
    sessions.get(session_id).epoch = 2**31 - 1
    begin(sessions, session_id, 2**31 - 1, partitions={})
    assert sessions.get(session_id).epoch == 1


def test_the_name_of_a_topic_id_is_kept_once_it_is_known():
    sessions = FetchSessions(10, Random(1))
    by_id = FetchPartitionKey(A, "", 0)
    session_id = new_session(sessions, by_id, uses_topic_ids=True)
    seen = []
    for epoch, names in enumerate(({}, {A: "t"}, {}), 1):
        context = begin(sessions, session_id, epoch, partitions={}, uses_topic_ids=True)
        seen += [name for _, name, _ in context.partitions(names)]
    assert seen == [None, "t", "t"]


def test_a_full_cache_makes_room_for_what_is_worth_more_only():
    sessions = FetchSessions(2, Random(1))
    small = new_session(sessions, key(0))
    large = new_session(sessions, key(0), key(1), key(2))
    # Young sessions of consumers give way to followers alone, the smallest first.
    assert new_session(sessions, key(0), key(1)) == NO_SESSION
    follower = new_session(sessions, key(0), is_follower=True)
    assert (follower != NO_SESSION, sessions.get(small), sessions.get(large) is not None) == (True, None, True)
    # Once they are older than that and in use, to larger ones, too.
    now_ms = EVICTION_MS + 1
    begin(sessions, large, 1, partitions={}, now_ms=now_ms)
    begin(sessions, follower, 1, partitions={}, now_ms=now_ms)
    assert new_session(sessions, key(0), key(1), now_ms=now_ms) == NO_SESSION
    assert new_session(sessions, *map(key, range(4)), now_ms=now_ms) != NO_SESSION
    assert (sessions.get(large), sessions.get(follower) is not None) == (None, True)


def test_a_stale_session_gives_way_to_any():
    sessions = FetchSessions(1, Random(1))
    stale = new_session(sessions, *map(key, range(5)), is_follower=True)
    assert new_session(sessions, now_ms=EVICTION_MS) == NO_SESSION
    assert new_session(sessions, now_ms=EVICTION_MS + 1) != NO_SESSION
    assert sessions.get(stale) is None


def test_without_slots_there_are_no_sessions():
    sessions = FetchSessions(0, Random(1))
    assert new_session(sessions, is_follower=True) == NO_SESSION


partitions = st.frozensets(st.integers(0, 5))


@given(st.lists(st.tuples(partitions, partitions, st.integers(0, 3)), max_size=20))
def test_a_session_fetches_what_full_fetches_would(requests):
    """The model is a client that keeps its own list and asks for all of it each time."""
    sessions = FetchSessions(10, Random(1))
    session_id = new_session(sessions, key(9))
    wanted = {9: 0}
    for epoch, (added, dropped, offset) in enumerate(requests, 1):
        wanted |= dict.fromkeys(added, offset)
        for each in dropped:
            wanted.pop(each, None)
        context = begin(
            sessions,
            session_id,
            epoch,
            partitions=asked(*map(key, added), offset=offset),
            forgotten=map(key, dropped),
        )
        assert dict(fetched(context)) == wanted
