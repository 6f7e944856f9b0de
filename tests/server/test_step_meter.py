"""Steps are measured; one that takes too long is in the log and in the metrics."""

from collections.abc import Iterator
from functools import partial
from itertools import chain, count

from driver_world import Driven, driven

from falkirk.node.effects import Fact
from falkirk.node.events import BytesReceived, ConnectionAccepted
from falkirk.node.step import STEP_MS_MAX
from falkirk.server.garbage_collector import Collected, GarbageCollector, Held
from falkirk.server.step_meter import BOUNDS_MS, LOG_INTERVAL_S, StepMeter

MS = 1_000_000


class Clocks:
    """Clocks that go on when the test says so."""

    def __init__(self) -> None:
        self.cpu_ns = 7 * MS
        self.steady_ns = 0

    def meter(self) -> StepMeter:
        return StepMeter(lambda: self.cpu_ns, lambda: self.steady_ns)

    def step(self, meter: StepMeter, cpu_ms: float, wall_ms: float | None = None) -> bool:
        meter.begin()
        self.cpu_ns += int(cpu_ms * MS)
        self.steady_ns += int((cpu_ms if wall_ms is None else wall_ms) * MS)
        return meter.end()


def test_a_step_is_too_long_by_its_processor_time_not_by_the_clock() -> None:
    clocks = Clocks()
    meter = clocks.meter()
    assert not clocks.step(meter, STEP_MS_MAX, wall_ms=10_000)
    assert clocks.step(meter, STEP_MS_MAX + 0.001)


def test_steps_are_counted_in_the_bucket_of_their_processor_time() -> None:
    clocks = Clocks()
    meter = clocks.meter()
    for cpu_ms in (0.2, 1, 1.5, 49, 50, 51, 9_000):
        clocks.step(meter, cpu_ms)
    assert dict(zip((*BOUNDS_MS, "over"), meter.counts, strict=True)) == {
        **dict.fromkeys(BOUNDS_MS, 0),
        1: 2,
        2: 1,
        50: 2,
        100: 1,
        "over": 1,
    }
    assert meter.sum_ns == int((0.2 + 1 + 1.5 + 49 + 50 + 51 + 9_000) * MS)


def test_of_long_steps_that_follow_each_other_one_is_logged_and_the_others_are_counted() -> None:
    clocks, facts = Clocks(), list[Fact]()
    meter = clocks.meter()

    def long_step() -> None:
        assert clocks.step(meter, 60, wall_ms=80)
        meter.report([BytesReceived(2, b"x"), BytesReceived(2, b"y")], {"apis": {"Fetch": 2}}, facts.append)

    for _ in range(3):
        long_step()
    clocks.steady_ns += LOG_INTERVAL_S * 1000 * MS
    long_step()
    assert [fact.fields for fact in facts] == [
        {
            "cpu_ms": 60,
            "wall_ms": 80,
            "limit_ms": STEP_MS_MAX,
            "events": {"BytesReceived": 2},
            "apis": {"Fetch": 2},
            "not_logged": not_logged,
        }
        for not_logged in (0, 2)
    ]
    assert {fact.level for fact in facts} == {"warning"}


def test_a_collection_of_garbage_is_measured_as_a_step() -> None:
    class Due(GarbageCollector):
        is_due = True

        def collect(self) -> Collected:
            self.is_due = False
            return "old objects"

    async def story(world: Driven) -> None:
        await world.node.until(lambda: len(world.node.steps) == 1)

    # The first step is short, what follows it is long.
    times = chain((0, 0), count(0, 60 * MS))
    log = driven(story, meter=StepMeter(partial(next, times)), garbage=Due(Held)).log.getvalue()
    line = next(line for line in log.splitlines() if "a step took too long" in line)
    assert "cpu_ms=60" in line
    assert 'garbage_collection="old objects"' in line


def test_the_driver_logs_the_work_of_a_long_step() -> None:
    def cpu_ns() -> Iterator[int]:
        """The first step is short, all others are long."""
        yield from (0, 0)
        now_ns = 0
        while True:
            yield now_ns
            now_ns += 60 * MS

    async def story(world: Driven) -> None:
        await world.node.until(lambda: len(world.node.steps) == 1)
        assert "a step took too long" not in world.log.getvalue()
        _, writer = await world.connect()
        await world.node.until(lambda: bool(world.node.events_of(ConnectionAccepted)))
        writer.close()

    times = cpu_ns()
    log = driven(story, meter=StepMeter(lambda: next(times))).log.getvalue()
    line = next(line for line in log.splitlines() if "a step took too long" in line)
    assert "cpu_ms=60" in line
    assert "events=\"{'ConnectionAccepted': 1}\"" in line
    assert "apis=\"{'Fetch': 2}\"" in line
