"""`falkirk rehearse`: simulate a roll to another release on the metadata of a real cluster."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path  # noqa: TC003  Typer reads the annotations when it builds a command
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.options import JsonOption  # noqa: TC001  as above
from falkirk.cli.console.output import choose_output
from falkirk.cli.console.progress import PhaseProgress, reading
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.simulation.plans.rehearsed_cluster import RehearsedCluster
    from falkirk.simulation.rehearsal import Rehearsal

_VERDICTS: Final = {
    ExitCode.DONE: "go",
    ExitCode.FAILED: "no-go",
    ExitCode.DATA_WOULD_BE_LOST: "data would be lost",
}
_SHOWN_ITEMS_MAX: Final = 20
# Marks that show what a run went through.
_SHOWN_MARKS: Final = frozenset((
    "election after a leader crash",
    "crash within a change on disk",
    "snapshot installed",
    "connection broken",
    "disk failed",
    "node stopped that could not run what is finalized",
    "node waited for before an older release was started",
))  # fmt: skip


def command(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Log directories, folders of them, or server.properties files; those of all nodes of the cluster.",
            show_default=False,
        ),
    ],
    *,
    to: Annotated[str, typer.Option("--to", metavar="RELEASE", help="Which release the nodes are to run as.")],
    running: Annotated[
        str | None,
        typer.Option("--from", metavar="RELEASE", help="What they run as now; default: what each registered as."),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="How many runs, each with other plans and faults.", min=1)] = 10,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Go although something is lost.")] = False,
    json: JsonOption = False,
) -> None:
    """Roll a copy of a cluster to another release in simulation, and print whether to go.

    metadata.version goes to the release's own level if it differs. Exit status: 0 go, 1 no-go, 3 data would be lost.
    """
    from falkirk.logdir.cluster import read_cluster  # noqa: PLC0415
    from falkirk.logdir.locate import find_nodes  # noqa: PLC0415
    from falkirk.logdir.locks import hold_locks  # noqa: PLC0415
    from falkirk.operations.rehearsal_source import rehearsed_cluster  # noqa: PLC0415
    from falkirk.simulation.rehearsal import rehearse  # noqa: PLC0415  loads the whole node
    from falkirk.storage.posix_disk import PosixDisk  # noqa: PLC0415

    release = Release.parse(to)
    with hold_locks(nodes := find_nodes(directories)), reading():
        source = read_cluster(PosixDisk(), nodes)
    cluster = rehearsed_cluster(source, None if running is None else Release.parse(running))
    level = MetadataVersion.parse(release.word)
    with PhaseProgress() as progress:
        done = count(1)
        rehearsal = rehearse(
            cluster,
            release,
            level,
            runs=seeds,
            is_done=lambda _: progress.update("rehearsing", next(done), seeds),
        )
    view = RehearsalView(source.cluster_id, cluster, release, level, rehearsal, unsafe=unsafe)
    choose_output(json=json).show(view)
    if view.exit_code is not ExitCode.DONE:
        raise typer.Exit(view.exit_code)


@dataclass(frozen=True, slots=True)
class RehearsalView:
    """A `Result`, and the exit status of the command."""

    cluster_id: str
    cluster: RehearsedCluster
    to: Release
    level: MetadataVersion
    rehearsal: Rehearsal
    unsafe: bool

    @property
    def exit_code(self) -> ExitCode:
        """The exit status of the verdict."""
        if self.rehearsal.reasons:
            return ExitCode.FAILED
        return ExitCode.DATA_WOULD_BE_LOST if self.rehearsal.losses and not self.unsafe else ExitCode.DONE

    def text(self) -> Iterator[str]:
        """Yield the cluster, what each run went through, what would be lost, and the verdict."""
        yield f"cluster {self.cluster_id} at {self.cluster.metadata_version}, to {self.to} at {self.level}"
        for node in self.cluster.nodes:
            roles = [*(["controller"] if node.is_controller else []), *(["broker"] if node.is_broker else [])]
            yield f"  node {node.node_id}: {' and '.join(roles)}, runs as {node.release}"
        for run in self.rehearsal.runs:
            met = ", ".join(f"{times} x {mark}" for mark, times in run.marks.items() if mark in _SHOWN_MARKS)
            yield f"seed {run.seed}: {run.verdict.value}{f' ({met})' if met else ''}"
        for title, items in (("would be lost", self.rehearsal.losses), ("out of reach", self.rehearsal.inaccessible)):
            if items:
                yield f"{title}:"
                yield from (f"  {item['detail']}" for item in items[:_SHOWN_ITEMS_MAX])
                if len(items) > _SHOWN_ITEMS_MAX:
                    yield f"  and {len(items) - _SHOWN_ITEMS_MAX} more (all of them with --json)"
        yield _VERDICTS[self.exit_code]
        yield from (f"  {reason}" for reason in self.rehearsal.reasons)

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields."""
        rehearsal = self.rehearsal
        return {
            "cluster_id": self.cluster_id,
            "metadata_version": str(self.cluster.metadata_version),
            "to": {"release": str(self.to), "metadata_version": str(self.level)},
            "nodes": [
                {
                    "node_id": node.node_id,
                    "controller": node.is_controller,
                    "broker": node.is_broker,
                    "release": str(node.release),
                }
                for node in self.cluster.nodes
            ],
            "go": self.exit_code is ExitCode.DONE,
            "verdict": _VERDICTS[self.exit_code],
            "reasons": rehearsal.reasons,
            "losses": list(rehearsal.losses),
            "inaccessible": list(rehearsal.inaccessible),
            "blockers": list(rehearsal.blockers),
            "runs": [
                {
                    "seed": run.seed,
                    "scenario": run.scenario,
                    "verdict": run.verdict.value,
                    "problem": run.problem,
                    "gave_up": run.gave_up,
                    "simulated_ms": run.simulated_ms,
                    "marks": run.marks,
                }
                for run in rehearsal.runs
            ],
        }
