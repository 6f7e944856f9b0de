"""`falkirk explore`: all runs of a small quorum, up to a depth."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from falkirk.cli.console.failure import CommandFailedError, WrongUsageError
from falkirk.cli.console.options import JsonOption  # noqa: TC001  Typer reads the annotations when it builds a command
from falkirk.cli.console.output import choose_output
from falkirk.cli.console.terminal import print_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.simulation.explorer.exploration import ExplorationResult


def command(
    scope: Annotated[str, typer.Argument(metavar="SCOPE", help="Which runs; `list` prints the scopes.")],
    *,
    depth: Annotated[
        int | None, typer.Option("--depth", help="Explore runs of so many events, not those of the scope.", min=1)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Explore every order of deliveries, losses, crashes and elections of a small quorum, and check what must hold.

    The exit status is 1 if an invariant does not hold; the shortest run that breaks it is printed.
    """
    from falkirk.simulation.explorer.exploration import Exploration  # noqa: PLC0415  loads the replicas
    from falkirk.simulation.explorer.scopes import SCOPES  # noqa: PLC0415  the same

    if scope == "list":
        choose_output(json=json).show(Scopes({name: each.about for name, each in SCOPES.items()}))
        return
    found = SCOPES.get(scope)
    if found is None:
        raise WrongUsageError(f"{scope} is no scope; there are {', '.join(SCOPES)}")
    if depth is not None:
        found = replace(found, depth_max=depth)
    result = Exploration(found, on_depth=_print_progress).run()
    choose_output(json=json).show(Explored(result))
    if result.problem is not None:
        raise CommandFailedError(result.problem)


def _print_progress(depth: int, states: int, waiting: int) -> None:
    print_text(f"depth {depth}: {states} states, {waiting} to go on from", sys.stderr)


@dataclass(frozen=True, slots=True)
class Scopes:
    """A `Result`: what can be explored."""

    scopes: dict[str, str]

    def text(self) -> Iterator[str]:
        """Yield a line for each scope."""
        for name, about in self.scopes.items():
            yield f"{name}: {about}"

    def document(self) -> object:
        """Return the scopes by name."""
        return {"scopes": self.scopes}


@dataclass(frozen=True, slots=True)
class Explored:
    """A `Result`: one exploration."""

    result: ExplorationResult

    def text(self) -> Iterator[str]:
        """Yield the run that breaks an invariant, if there is one, and what was explored."""
        result = self.result
        yield from result.run
        extent = "every run" if result.is_complete else f"every run of {result.depth} events"
        verdict = "an invariant does not hold" if result.problem else f"{extent} keeps all invariants"
        yield (
            f"{result.scope}: {verdict} ({result.states} states of the cluster, "
            f"{result.replica_states} of single replicas, {result.replica_steps} of their steps, depth {result.depth})"
        )

    def document(self) -> object:
        """Return all fields."""
        result = self.result
        return {
            "scope": result.scope,
            "states": result.states,
            "replica_states": result.replica_states,
            "replica_steps": result.replica_steps,
            "depth": result.depth,
            "is_complete": result.is_complete,
            "problem": result.problem,
            "run": list(result.run),
        }
