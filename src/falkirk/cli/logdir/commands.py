"""`falkirk logdir`: the directories of a stopped cluster, inspected, downgraded, verified, restored, compared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from falkirk.cli.console.copy_progress import CopyProgress
from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import WrongUsageError
from falkirk.cli.console.options import JsonOption  # noqa: TC001 - Typer reads the annotations when it builds a command
from falkirk.cli.console.output import choose_output
from falkirk.cli.console.progress import reading
from falkirk.cli.console.terminal import print_text
from falkirk.cli.logdir.views import (
    DifferenceView,
    DowngradeView,
    InspectionView,
    PlanView,
    UndoView,
    VerificationView,
)
from falkirk.logdir.cluster import Cluster, read_cluster
from falkirk.logdir.downgrade import (
    BlockedError,
    DataWouldBeLostError,
    downgrade,
    downgrade_in_place,
    undo_folder,
)
from falkirk.logdir.errors import DamagedLogError
from falkirk.logdir.group_records import read_groups
from falkirk.logdir.in_place import Ending, finish_interrupted
from falkirk.logdir.inspect import inspect_cluster
from falkirk.logdir.ledger import DowngradeLedger, read_ledger
from falkirk.logdir.locate import find_nodes, interrupted_log_dirs
from falkirk.logdir.locks import hold_locks
from falkirk.logdir.plan import Plan, make_plan, with_tombstones
from falkirk.logdir.target import parse_target
from falkirk.logdir.undo import undo
from falkirk.logdir.verify import verify, verify_files
from falkirk.logdir.write_tree import check_out
from falkirk.metadata.image.difference import differences
from falkirk.metadata.records.errors import RecordError
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.posix_disk import PosixDisk
from falkirk.versions.release import Release, latest_release

if TYPE_CHECKING:
    from falkirk.logdir.locate import NodeDirs

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

DirsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIR...",
        help="Log directories, folders of them, or server.properties files; those of all nodes of the cluster.",
        show_default=False,
    ),
]
ToOption = Annotated[
    str,
    typer.Option("--to", metavar="LEVEL|RELEASE", help="Where to go: 3.9-IV0, or 3.9 for its latest level."),
]
ReadByOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="The Kafka release that will run on it; default: the oldest one that runs the level.",
    ),
]
GroupsReadByOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="Say what the groups would be to this Kafka release; default: the newest that falkirk knows.",
    ),
]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="OUT", help="Where to write the result: a new or empty directory.")
]
UnsafeOption = Annotated[
    bool, typer.Option("--unsafe", help="Go on although something is lost; it is kept in the bundle.")
]
TombstonesOption = Annotated[
    bool,
    typer.Option(
        "--tombstone-orphaned-groups",
        help="Write tombstones for records of groups that nothing writes at the target's levels.",
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="List every loss, not only the first ones of each kind.")]


@app.command()
def inspect(directories: DirsArgument, *, release: GroupsReadByOption = None, json: JsonOption = False) -> None:
    """Print what the directories hold.

    Levels, counts, groups, and the lowest metadata.version that holds it all without loss.
    """
    reader = latest_release() if release is None else Release.parse(release)
    with hold_locks(nodes := find_nodes(directories)), reading():
        cluster = read_cluster(PosixDisk(), nodes)
        inspection = inspect_cluster(cluster, read_groups(PosixDisk(), cluster, reader), reader)
    choose_output(json=json).show(InspectionView(inspection))


@app.command()
def plan(
    directories: DirsArgument,
    *,
    to: ToOption,
    release: ReadByOption = None,
    tombstone_orphaned_groups: TombstonesOption = False,
    everything: AllOption = False,
    json: JsonOption = False,
) -> NoReturn:
    """Print what a downgrade would do.

    Exit status: 1 if something is in the way, else 3 if something would be lost, else 0.
    """
    with hold_locks(nodes := find_nodes(directories)):
        made = _plan_downgrade(nodes, to, release, tombstones=tombstone_orphaned_groups)
    choose_output(json=json).show(PlanView(made, everything=everything))
    raise typer.Exit(_status(made))


@app.command("downgrade")
def downgrade_command(
    directories: DirsArgument,
    *,
    to: ToOption,
    out: OutOption = None,
    unsafe: UnsafeOption = False,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Change the directories themselves, atomically, with a backup of each.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be done, as `plan` does.")] = False,
    release: ReadByOption = None,
    tombstone_orphaned_groups: TombstonesOption = False,
    everything: AllOption = False,
    json: JsonOption = False,
) -> None:
    """Write the cluster at a lower level to a new place.

    Refuses with status 3 and the list if anything would be lost, unless --unsafe is given.
    """
    if out is None and not in_place and not dry_run:
        raise WrongUsageError("name a place for the result with --out, or say --in-place")
    output = choose_output(json=json)
    if dry_run:
        plan(
            directories,
            to=to,
            release=release,
            tombstone_orphaned_groups=tombstone_orphaned_groups,
            everything=everything,
            json=json,
        )
    if in_place:
        ledger = _complete_interrupted(directories)
        if ledger is not None:
            output.show(DowngradeView(ledger, in_place=True, everything=everything))
            return
    elif out is not None:
        check_out(out)
    with hold_locks(nodes := find_nodes(directories)):
        made = _plan_downgrade(nodes, to, release, tombstones=tombstone_orphaned_groups)
        try:
            if in_place:
                result = downgrade_in_place(PosixDisk(), made, out, unsafe=unsafe)
            else:
                assert out is not None
                with CopyProgress() as progress:
                    result = downgrade(PosixDisk(), made, out, unsafe=unsafe, progress=progress)
        except (DataWouldBeLostError, BlockedError):
            output.show(PlanView(made, everything=everything))
            raise
    output.show(DowngradeView(result.document, in_place=in_place, everything=everything))


@app.command("verify")
def verify_command(directories: DirsArgument, *, release: ReadByOption = None, json: JsonOption = False) -> None:
    """Check checksums, and that everything fits together and can be read.

    Exit status: 1 if anything is wrong.
    """
    with hold_locks(nodes := find_nodes(directories)), CopyProgress("checking") as progress:
        progress.begin(sum(_size(log_dir.path) for node in nodes for log_dir in node.log_dirs))
        named = None if release is None else Release.parse(release)
        try:
            cluster = read_cluster(PosixDisk(), nodes)
        except (CorruptFileError, DamagedLogError, RecordError) as error:
            reader = named or latest_release()
            found = verify_files(PosixDisk(), nodes, reader, error, advance=progress.advance)
        else:
            found = verify(PosixDisk(), cluster, named or _oldest_reader(cluster), advance=progress.advance)
    choose_output(json=json).show(VerificationView(found))
    raise typer.Exit(ExitCode.FAILED if found.problems else ExitCode.DONE)


@app.command("undo")
def undo_command(
    directories: DirsArgument,
    *,
    bundle: Annotated[Path, typer.Option("--bundle", metavar="FILE", help="The undo bundle of the downgrade.")],
    out: Annotated[Path, typer.Option("--out", metavar="OUT", help="Where to write the result.")],
    json: JsonOption = False,
) -> None:
    """Restore a downgraded cluster, with all that was dropped.

    The cluster may have run since: what is newer wins, and conflicts are listed.
    """
    check_out(out)
    with hold_locks(nodes := find_nodes(directories)):
        cluster = read_cluster(PosixDisk(), nodes)
        with CopyProgress() as progress:
            result = undo(PosixDisk(), cluster, bundle, out, progress=progress)
    choose_output(json=json).show(UndoView(result))


@app.command()
def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="A directory, as above.", show_default=False)],
    b: Annotated[Path, typer.Argument(metavar="B", help="The one to compare with.", show_default=False)],
    *,
    json: JsonOption = False,
) -> None:
    """Print what differs between two clusters' metadata.

    By kind and key. Exit status: 0 whether or not anything differs.
    """
    clusters = []
    for path in (a, b):
        with hold_locks(nodes := find_nodes([path])):
            clusters.append(read_cluster(PosixDisk(), nodes))
    choose_output(json=json).show(DifferenceView(list(differences(clusters[0].image, clusters[1].image)), *clusters))


def _plan_downgrade(nodes: list[NodeDirs], to: str, release: str | None, *, tombstones: bool) -> Plan:
    target = parse_target(to, read_by=release)
    with reading():
        cluster = read_cluster(PosixDisk(), nodes)
        made = make_plan(cluster, target, read_groups(PosixDisk(), cluster, target.release))
        return with_tombstones(PosixDisk(), made) if tombstones else made


def _status(made: Plan) -> ExitCode:
    if made.blockers:
        return ExitCode.FAILED
    return ExitCode.DONE if made.is_lossless else ExitCode.DATA_WOULD_BE_LOST


def _oldest_reader(cluster: Cluster) -> Release:
    """Return the oldest release that runs the directories' level."""
    at = cluster.image.features.metadata_version
    return latest_release() if at is None else parse_target(str(at.level)).release


def _complete_interrupted(directories: list[Path]) -> DowngradeLedger | None:
    """Complete or roll back an interrupted run of --in-place; return its ledger if the downgrade is complete now."""
    done, result = False, None
    for log_dir in interrupted_log_dirs(directories):
        finished = finish_interrupted(log_dir)
        if finished is not None:
            print_text(f"{log_dir}: an earlier downgrade was cut off; it is {finished.ending.value} now", sys.stderr)
            done = done or finished.ending is Ending.ROLLED_FORWARD
            result = result or finished.result
    return read_ledger(result or undo_folder(find_nodes(directories))) if done else None


def _size(path: Path) -> int:
    """Count the bytes of segments below a log directory."""
    return sum(file.stat().st_size for file in path.glob("*/*.log"))
