import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.coordinator.runtime.outcome import NOTHING
from falkirk.timers import TIDIED_AT_ONCE, Timers

KEYS = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("schedule"), KEYS, st.integers(0, 30)),
        st.tuples(st.just("cancel"), KEYS, st.just(0)),
        st.tuples(st.just("pop"), st.just(""), st.integers(0, 12)),
    ),
    max_size=300,
)


@given(steps=STEPS)
def test_what_is_due_comes_in_order_of_time_and_then_of_being_set(steps):
    timers, now_ms, ran = Timers(), 0, []
    # By key: when it is due, and the number of the step that set it.
    expected: dict[str, tuple[int, int]] = {}
    for number, (what, key, ms) in enumerate(steps):
        if what == "schedule":
            expected[key] = now_ms + ms, number
            timers.schedule(key, now_ms + ms, lambda number=number: ran.append(number) or NOTHING)
        elif what == "cancel":
            expected.pop(key, None)
            timers.cancel(key)
        else:
            now_ms += ms
            while (action := timers.pop_due(now_ms)) is not None:
                first = min(expected, key=lambda each: expected[each])
                action()
                assert ran[-1] == expected.pop(first)[1]
        assert timers.next_due_ms == min((due for due, _ in expected.values()), default=None)
        assert [each in timers for each in "abcd"] == [each in expected for each in "abcd"]
        assert not any(due <= now_ms for due, _ in expected.values()) or what != "pop"


def test_putting_timers_off_takes_no_room():
    timers = Timers()
    for now_ms in range(10_000):
        for key in "abc":
            timers.schedule(key, now_ms + 100, lambda: NOTHING)
    assert len(timers._heap) == 3


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 9))), st.integers(0, 9))
def test_those_are_due_whose_last_time_has_come(changes, now_ms):
    timers: Timers[int, int] = Timers()
    times = {}
    for number, due_ms in changes:
        if due_ms is None:
            timers.cancel(number)
        else:
            timers.schedule(number, due_ms, number)
        times[number] = due_ms
    set_ = {number: due_ms for number, due_ms in times.items() if due_ms is not None}
    assert timers.next_due_ms == min(set_.values(), default=None)
    assert sorted(iter(lambda: timers.pop_due(now_ms), None)) == sorted(
        number for number, due_ms in set_.items() if due_ms <= now_ms
    )
    assert timers.next_due_ms == min((due_ms for due_ms in set_.values() if due_ms > now_ms), default=None)


def test_a_time_that_is_set_anew_replaces_the_former_one():
    timers: Timers[int, int] = Timers()
    for number, due_ms in ((1, 50), (2, 40), (2, 70), (3, 60)):
        timers.schedule(number, due_ms, number)
    timers.cancel(3)
    assert timers.next_due_ms == 50
    assert timers.pop_due(49) is None
    assert [timers.pop_due(100) for _ in range(3)] == [1, 2, None]
    assert timers.next_due_ms is None


@pytest.mark.parametrize("is_put_off", [True, False])
def test_very_many_timers_that_were_put_off_or_cancelled_are_moved_over_many_looks(is_put_off):
    timers: Timers[int, int] = Timers()
    for number in range(10 * TIDIED_AT_ONCE):
        timers.schedule(number, 100, number)
    timers.schedule(-1, 300, -1)
    for number in range(10 * TIDIED_AT_ONCE // 2):
        if is_put_off:
            timers.schedule(number, 200, number)
            timers.schedule(10 * TIDIED_AT_ONCE - 1 - number, 200, number)
        else:
            timers.cancel(number)
    looks, popped = 0, []
    while (due_ms := timers.next_due_ms) is not None and due_ms <= 150:
        looks += 1
        while (value := timers.pop_due(150)) is not None:
            popped.append(value)
    assert looks >= 3
    assert len(popped) == (0 if is_put_off else 10 * TIDIED_AT_ONCE // 2)
    assert timers.next_due_ms == (200 if is_put_off else 300)
