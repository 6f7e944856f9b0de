import time

import pytest

from falkirk.server.clock import Clock


def test_the_time_of_day_at_the_start_is_where_it_begins() -> None:
    before = time.time_ns() // 1_000_000
    now = Clock().now_ms()
    assert before - 1000 <= now <= time.time_ns() // 1_000_000 + 1000


def test_setting_the_time_of_day_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    started_ns = time.monotonic_ns()
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    monkeypatch.setattr(time, "monotonic_ns", lambda: started_ns + 5_000_000_000)
    later = clock.now_ms()
    monkeypatch.undo()
    assert 4_000 < later - clock.now_ms() < 6_000
