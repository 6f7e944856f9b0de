"""Compiled expressions are kept as far as their memory is within a limit, whatever clients send."""

import tracemalloc

import pytest

from falkirk.coordinator.patterns.topic_matchers import CELLS_MAX, TopicMatchers
from falkirk.coordinator.patterns.topic_pattern import TopicPatternError

NAMES = [f"orders-{number:03}" for number in range(200)]
# A short expression that unfolds to thousands of steps.
LONG = "(.{{0,40}}){{0,40}}{}"


def test_a_kept_expression_matches_as_before() -> None:
    matchers = TopicMatchers()
    first = matchers.matching("orders-00.", NAMES)
    assert matchers.matching("orders-00.", NAMES) == first == set(NAMES[:10])
    assert len(matchers) == 1


@pytest.mark.slow
def test_those_that_were_used_last_are_kept_within_the_limit() -> None:
    matchers = TopicMatchers()
    tracemalloc.start()
    for number in range(150):
        matchers.matching("orders-.*", NAMES)
        matchers.matching(LONG.format(number), NAMES[:1])
        assert matchers.cells <= CELLS_MAX
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 1 < len(matchers) < 150
    assert held < 200 * CELLS_MAX
    cells = matchers.cells
    matchers.matching("orders-.*", NAMES)
    assert matchers.cells == cells, "what is used all the time stays"


def test_an_expression_that_is_refused_is_not_kept() -> None:
    matchers = TopicMatchers()
    with pytest.raises(TopicPatternError):
        matchers.matching("(a{1000}){1000}", NAMES)
    assert (len(matchers), matchers.cells) == (0, 0)
