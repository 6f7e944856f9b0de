"""A follower is polite: what it fetches is bounded over all its connections."""

import asyncio

import pytest

from falkirk.mirror.cluster_mirror import LiveSource
from falkirk.watch import follower
from falkirk.watch.follower import Follower, Pace

RATE = 1000


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now_s = 100.0

    def monotonic(self):
        return self.now_s

    async def sleep(self, seconds):
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(follower.time, "monotonic", clock.monotonic)
    monkeypatch.setattr(follower.asyncio, "sleep", clock.sleep)
    return clock


def test_no_more_is_fetched_than_the_pace_allows(clock, tmp_path):
    made = Follower(
        "prod",
        LiveSource(),
        connection="",
        pace=Pace(fetch_bytes_per_s=RATE),
        folder=tmp_path,
        changed=lambda _: None,
        bookmark=lambda _: None,
        begun=lambda *_: None,
    )

    async def fetch(sizes):
        for size in sizes:
            await made._pause(size)

    began_s = clock.now_s
    asyncio.run(fetch([500] * 40))
    assert clock.now_s - began_s == pytest.approx(20.0, abs=0.6), "20,000 bytes at 1,000 a second"
    clock.now_s += 60
    idle_s = clock.now_s
    asyncio.run(fetch([50]))
    assert clock.now_s == idle_s, "little is fetched at once, and nothing is saved up"
    asyncio.run(fetch([3000]))
    assert clock.now_s - idle_s >= 3.0
