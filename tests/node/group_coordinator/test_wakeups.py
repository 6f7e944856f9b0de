from hypothesis import given
from hypothesis import strategies as st

from falkirk.node.group_coordinator.wakeups import Wakeups


def test_a_time_that_is_set_anew_replaces_the_former_one():
    wakeups = Wakeups()
    wakeups.set(1, 50)
    wakeups.set(2, 40)
    wakeups.set(2, 70)
    wakeups.set(3, 60)
    wakeups.set(3, None)
    assert wakeups.next_ms == 50
    assert wakeups.pop_due(49) == []
    assert wakeups.pop_due(100) == [1, 2]
    assert wakeups.next_ms is None


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 9))), st.integers(0, 9))
def test_those_are_due_whose_last_time_has_come(changes, now_ms):
    wakeups = Wakeups()
    times = {}
    for number, due_ms in changes:
        wakeups.set(number, due_ms)
        times[number] = due_ms
    set_ = {number: due_ms for number, due_ms in times.items() if due_ms is not None}
    assert wakeups.next_ms == min(set_.values(), default=None)
    assert sorted(wakeups.pop_due(now_ms)) == sorted(number for number, due_ms in set_.items() if due_ms <= now_ms)
    assert wakeups.next_ms == min((due_ms for due_ms in set_.values() if due_ms > now_ms), default=None)
