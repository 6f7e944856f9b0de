"""`falkirk simulate`: a cluster in one process, its chance and its faults from a seed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from falkirk.cli.failure import CommandFailedError
from falkirk.cli.options import JsonOption  # noqa: TC001  Typer reads the annotations when it builds a command
from falkirk.cli.output import choose_output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.simulation.run import SimulationResult


def command(
    *,
    seed: Annotated[int, typer.Option("--seed", help="Which run to play.", min=0)],
    runs: Annotated[int, typer.Option("--runs", help="Play so many seeds from this one on.", min=1)] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Leave the timeline out.")] = False,
    json: JsonOption = False,
) -> None:
    """Run a cluster of controllers with faults, all chance from one seed, and check what must hold.

    The same seed gives the same run, line by line. The exit status is 1 if a run does not pass.
    """
    from falkirk.simulation.run import Verdict, simulate  # noqa: PLC0415  loads the whole node

    results = []
    for number in range(seed, seed + runs):
        result = simulate(number, keeps_timeline=not quiet)
        results.append(result)
        if runs > 1 and not json:
            print(f"seed {number}: {result.verdict.value}", file=sys.stderr)
    choose_output(json=json).show(Simulations(results))
    failed = [result.seed for result in results if result.verdict is not Verdict.PASSED]
    if failed:
        seeds = ", ".join(map(str, failed))
        raise CommandFailedError(f"not passed: seed {seeds}; play again with: falkirk simulate --seed {failed[0]}")


@dataclass(frozen=True, slots=True)
class Simulations:
    """One run or several."""

    results: Sequence[SimulationResult]

    def text(self) -> Iterator[str]:
        """Give the timelines and a line about each run."""
        for result in self.results:
            yield from result.timeline
            counts = ", ".join(f"{count} {name}" for name, count in result.counts.items())
            seconds = result.simulated_ms / 1000
            yield f"seed {result.seed}: {result.verdict.value} after {seconds:.1f} s of simulated time ({counts})"
            if result.problem:
                yield result.problem

    def document(self) -> object:
        """Give all that is known of each run."""
        return {
            "runs": [
                {
                    "seed": result.seed,
                    "scenario": result.scenario,
                    "verdict": result.verdict.value,
                    "problem": result.problem,
                    "simulated_ms": result.simulated_ms,
                    "digest": result.digest,
                    "counts": result.counts,
                    "timeline": list(result.timeline),
                }
                for result in self.results
            ]
        }
