"""Seeds of a simulation, all of which must pass."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from falkirk.simulation.run import SimulationResult, Verdict

Simulate = Callable[..., SimulationResult]


def assert_passed(result: SimulationResult, *more: object) -> None:
    """Fail with the seed and its scenario, after the lines in `more`."""
    told = [*map(str, more), f"seed {result.seed}: {result.scenario}", f"{result.verdict.value}: {result.problem}"]
    assert result.verdict is Verdict.PASSED, "\n".join(told)


def passed(simulate: Simulate, seeds: Iterable[int]) -> Counter[str]:
    """Run seeds; return how often each mark was reached."""
    marks: Counter[str] = Counter()
    for seed in seeds:
        result = simulate(seed, keeps_timeline=False)
        assert_passed(result)
        marks.update(result.marks)
    return marks


def reach(simulate: Simulate, seeds: Iterable[int], marks: Sequence[str]) -> None:
    """Run as many of the seeds as it takes to reach all marks."""
    reached: Counter[str] = Counter()
    left = iter(seeds)
    while missing := [mark for mark in marks if not reached[mark]]:
        seed = next(left, None)
        assert seed is not None, f"never reached: {missing}"
        reached.update(passed(simulate, [seed]))
