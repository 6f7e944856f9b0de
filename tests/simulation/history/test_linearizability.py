"""The search for an order agrees with trying all orders, and finds what each kind of object forbids."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.simulation.history.linearizability import Operation, is_linearizable


class Action(NamedTuple):
    """A write of a value to a register, or a read that returned it."""

    word: str
    value: int


def apply(state: int, action: Action) -> int | None:
    return action.value if action.word == "write" or action.value == state else None


def write(value: int, called: int, returned: int | None) -> Operation[Action]:
    return Operation(Action("write", value), called, returned)


def read(value: int, called: int, returned: int | None) -> Operation[Action]:
    return Operation(Action("read", value), called, returned)


def is_explained(*operations: Operation[Action]) -> bool:
    return is_linearizable(operations, apply, 0)


def all_orders(operations: list[Operation[Action]]) -> bool:
    """Try every order of the answered operations with every subset of the others."""
    answered = [each for each in operations if each.returned is not None]
    others = [each for each in operations if each.returned is None]
    return any(
        _is_allowed(order)
        for count in range(len(others) + 1)
        for some in combinations(others, count)
        for order in permutations([*answered, *some])
    )


def _is_allowed(order: tuple[Operation[Action], ...]) -> bool:
    state: int | None = 0
    for index, each in enumerate(order):
        if any(later.returned is not None and later.returned < each.called for later in order[index + 1 :]):
            return False
        state = apply(state, each.action) if state is not None else None
    return state is not None


@st.composite
def histories(draw: st.DrawFn) -> list[Operation[Action]]:
    """Up to five operations, each with two points in time that no other one has."""
    count = draw(st.integers(0, 5))
    times = draw(st.permutations(range(2 * count)))
    made = []
    for index in range(count):
        called, returned = sorted(times[2 * index : 2 * index + 2])
        action = Action(draw(st.sampled_from(("write", "read"))), draw(st.integers(0, 2)))
        made.append(Operation(action, called, returned if draw(st.integers(0, 3)) else None))
    return made


@given(histories())
def test_the_search_finds_an_order_where_trying_all_orders_does(history: list[Operation[Action]]) -> None:
    assert is_linearizable(history, apply, 0) == all_orders(history)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 5)), max_size=30))
def test_what_one_register_answers_is_linearizable(requests: list[tuple[bool, int, int]]) -> None:
    state, history = 0, []
    for moment, (is_write, value, width) in enumerate(requests):
        state = value if is_write else state
        # Each happens at its moment, and is seen to take longer.
        action = Action("write" if is_write else "read", state)
        history.append(Operation(action, 10 * moment - width * 10, 10 * moment + width * 10 + 1))
    assert is_linearizable(history, apply, 0)


def test_a_read_returns_what_was_written_before_it_began() -> None:
    assert is_explained(write(1, 0, 1), read(1, 2, 3))
    assert not is_explained(write(1, 0, 1), read(0, 2, 3))
    assert is_explained(write(1, 0, 3), read(0, 1, 2))
    assert is_explained(write(1, 0, 3), read(1, 1, 2))


def test_what_was_read_is_not_unread() -> None:
    assert not is_explained(write(1, 0, 9), read(1, 1, 2), read(0, 3, 4))


@pytest.mark.parametrize(("values", "is_possible"), [((0, 1), True), ((0, 0), True), ((1, 1), True), ((1, 0), False)])
def test_an_operation_without_an_answer_happens_once_or_never(values: tuple[int, int], is_possible: bool) -> None:
    first, second = values
    assert is_explained(write(1, 0, None), read(first, 1, 2), read(second, 3, 4)) == is_possible


def test_many_operations_one_after_the_other_are_searched_at_once() -> None:
    history = [
        operation
        for number in range(1, 300)
        for operation in (write(number, 4 * number, 4 * number + 1), read(number, 4 * number + 2, 4 * number + 3))
    ]
    assert is_explained(*history)
    assert not is_explained(*history, read(1, 5000, 5001))
