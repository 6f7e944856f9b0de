"""`falkirk simulate`: a cluster in one process, all chance and faults from a seed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import CommandFailedError, WrongUsageError
from falkirk.cli.console.options import JsonOption  # noqa: TC001  Typer reads the annotations when it builds a command
from falkirk.cli.console.output import choose_output
from falkirk.cli.console.terminal import print_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from falkirk.simulation.run import SimulationResult

_WORST_FIRST: Final = {"WRONG": ExitCode.FAILED, "CRASHED": ExitCode.CRASHED, "STUCK": ExitCode.LOST_PROGRESS}
"""The exit code of each Verdict, by name."""


def command(
    *,
    seed: Annotated[int, typer.Option("--seed", help="Which run to play.", min=0)],
    runs: Annotated[int, typer.Option("--runs", help="Play so many seeds from this one on.", min=1)] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Leave the timeline out.")] = False,
    zookeeper: Annotated[
        bool, typer.Option("--zookeeper", help="Play brokers with their features in ZooKeeper (KIP-584).")
    ] = False,
    step_costs: Annotated[
        bool, typer.Option("--step-costs", help="Let steps of nodes take time; a step of more than 50 ms is wrong.")
    ] = False,
    transactions: Annotated[
        bool, typer.Option("--transactions", help="Play clients with transactions; other runs have none.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run a cluster of controllers and brokers with faults, all chance from one seed, and check what must hold.

    The same seed gives the same run, line by line. The exit status is 1 if a run has a wrong result, 5 if a program in
    it crashed, 4 if it lost progress.
    """
    from falkirk.simulation import run  # noqa: PLC0415  loads the whole node
    from falkirk.simulation.run import Verdict  # noqa: PLC0415  the same
    from falkirk.simulation.zookeeper import run as zookeeper_run  # noqa: PLC0415  the same

    if zookeeper and (step_costs or transactions):
        option = "--step-costs" if step_costs else "--transactions"
        raise WrongUsageError(f"{option} is for KRaft's nodes, not for --zookeeper")
    simulate: Callable[..., SimulationResult] = zookeeper_run.simulate
    if not zookeeper:
        simulate = partial(run.simulate, has_step_costs=step_costs, has_transactions=transactions)
    results = []
    for number in range(seed, seed + runs):
        result = simulate(number, keeps_timeline=not quiet)
        results.append(result)
        if runs > 1 and not json:
            print_text(f"seed {number}: {result.verdict.value}", sys.stderr)
    choose_output(json=json).show(Simulations(results))
    failed = [result for result in results if result.verdict is not Verdict.PASSED]
    if failed:
        worst = next(verdict for verdict in _WORST_FIRST if any(result.verdict.name == verdict for result in failed))
        options = " --zookeeper" * zookeeper + " --step-costs" * step_costs + " --transactions" * transactions
        raise NotPassedError(failed, _WORST_FIRST[worst], options)


class NotPassedError(CommandFailedError):
    """Some runs did not pass."""

    def __init__(self, failed: Sequence[SimulationResult], exit_code: ExitCode, options: str) -> None:
        seeds = ", ".join(str(result.seed) for result in failed)
        again = f"falkirk simulate --seed {failed[0].seed}{options}"
        super().__init__(f"not passed: seed {seeds}; play again with: {again}")
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Simulations:
    """A `Result`: one run or several."""

    results: Sequence[SimulationResult]

    def text(self) -> Iterator[str]:
        """Yield the timeline of each run, and a line about it."""
        for result in self.results:
            yield from result.timeline
            counts = ", ".join(f"{count} {name}" for name, count in result.counts.items())
            seconds = result.simulated_ms / 1000
            yield f"seed {result.seed}: {result.verdict.value} after {seconds:.1f} s of simulated time ({counts})"
            if result.problem:
                yield result.problem

    def document(self) -> object:
        """Return all fields of each run."""
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
                    "marks": result.marks,
                    "timeline": list(result.timeline),
                }
                for result in self.results
            ]
        }
