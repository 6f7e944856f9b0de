"""DescribeTransactions and ListTransactions."""

import pytest
from transaction_world import FIRST_PRODUCER_ID, P0, TransactionWorld

from falkirk.coordinator.patterns.topic_pattern import TopicPatternError
from falkirk.coordinator.transactions.listing import unknown_state_filters
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListTransactionsRequest


def listed_world() -> TransactionWorld:
    """`a` is empty, `b` open for 5 s, `ç-1` prepared for 3 s, all with their own producer id."""
    world = TransactionWorld()
    for id_ in ("a", "b", "ç-1"):
        world.init(id_=id_)
    world.add(P0, id_="b", producer_id=FIRST_PRODUCER_ID + 1)
    world.now_ms += 2_000
    world.add(P0, id_="ç-1", producer_id=FIRST_PRODUCER_ID + 2)
    world.end(id_="ç-1", producer_id=FIRST_PRODUCER_ID + 2)
    world.now_ms += 3_000
    return world


def test_filters_by_state_producer_duration_and_pattern() -> None:
    world = listed_world()
    assert world.list() == ["a", "b", "ç-1"]
    assert world.list(state_filters=("Ongoing", "PrepareCommit")) == ["b", "ç-1"]
    assert world.list(state_filters=("ongoing",)) == [], "names are exact"
    assert world.list(producer_id_filters=(FIRST_PRODUCER_ID, FIRST_PRODUCER_ID + 2)) == ["a", "ç-1"]
    assert world.list(duration_filter=2_999) == ["a", "b", "ç-1"], "an id without a transaction counts as old"
    assert world.list(duration_filter=3_000) == ["a", "b"]
    assert world.list(duration_filter=5_000) == ["a"]
    assert world.list(transactional_id_pattern="[ab]") == ["a", "b"]
    assert world.list(transactional_id_pattern="ç.*") == ["ç-1"]
    assert world.list(transactional_id_pattern=r".-\d") == ["ç-1"]
    assert world.list(transactional_id_pattern="-1") == [], "the whole id has to match"
    assert world.list(transactional_id_pattern="") == ["a", "b", "ç-1"]
    assert world.list(state_filters=("Ongoing",), transactional_id_pattern="a") == []


def test_unknown_states_are_named() -> None:
    request = ListTransactionsRequest(state_filters=("Ongoing", "Gone", "Dead", "Gone", ""))
    assert unknown_state_filters(request) == ("Gone", "")


@pytest.mark.parametrize("pattern", ["(", "*", "[", "(?=a)"])
def test_a_pattern_that_is_no_regular_expression_is_an_error(pattern: str) -> None:
    with pytest.raises(TopicPatternError):
        listed_world().list(transactional_id_pattern=pattern)


def test_a_pattern_with_nested_repetitions_takes_bounded_time() -> None:
    world = TransactionWorld()
    world.init(id_="a" * 2_000)
    assert world.list(transactional_id_pattern="(a*)*b") == []


def test_a_description_has_the_state_and_the_partitions() -> None:
    world = listed_world()
    found = world.describe("b")
    assert (found.error_code, found.transaction_state, found.producer_id) == (0, "Ongoing", FIRST_PRODUCER_ID + 1)
    assert (found.producer_epoch, found.transaction_timeout_ms) == (0, 60_000)
    assert found.transaction_start_time_ms == 1_000_000
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("t", (0,))]
    assert world.describe("a").transaction_start_time_ms == -1


@pytest.mark.parametrize(
    ("id_", "error"), [("", ErrorCode.INVALID_REQUEST), ("none", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)]
)
def test_ids_that_are_not_there(id_: str, error: ErrorCode) -> None:
    found = listed_world().describe(id_)
    assert (found.error_code, found.transactional_id) == (error, id_)
