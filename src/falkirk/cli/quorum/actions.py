"""The commands of `falkirk quorum`: each connects, calls an operation, and shows the result."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from falkirk.cli.console.cluster_connection import cluster_connection
from falkirk.cli.console.failure import CommandFailedError, WrongUsageError
from falkirk.cli.console.kafka_tool import kafka_tool
from falkirk.cli.console.output import choose_output
from falkirk.cli.console.sentence_view import SentenceView
from falkirk.cli.console.terminal import print_text
from falkirk.cli.quorum.views import QuorumView, VoterChangeView
from falkirk.client.event_loop import run
from falkirk.client.registrations import remove_voter, unregister_controller
from falkirk.operations.quorum_status import quorum_status
from falkirk.operations.voter_changes import (
    QuorumMember,
    add_voter,
    find_observer,
    find_voter,
    member_of_properties,
    parse_directory_id,
    parse_endpoint,
    upgrade_to_dynamic_voters,
)
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.properties_file import parse_properties
from falkirk.versions.features import KRAFT_VERSION

if TYPE_CHECKING:
    import typer

    from falkirk.cli.console.cluster_connection import ClusterConnection
    from falkirk.client.feature_update import UpdateFeaturesResult
    from falkirk.operations.quorum_status import QuorumStatus

_NO_CONFIGURATION = "You must supply the configuration file of the controller you are adding when using add-controller."


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedController:
    """The options that name a controller; None and empty where they were not given."""

    controller_id: int | None
    directory_id: str | None
    endpoints: tuple[str, ...] = ()

    @property
    def directory(self) -> bytes | None:
        """The directory id. Raises InvalidInputError."""
        return None if self.directory_id is None else parse_directory_id(self.directory_id)


def run_describe(context: typer.Context, *, status: bool, replication: bool, human_readable: bool, json: bool) -> None:
    """Print the status of the quorum, or its replicas."""
    if human_readable and not replication:
        raise WrongUsageError("The option --human-readable is only supported along with --replication")
    if status and replication:
        raise WrongUsageError("Only one of --status or --replication should be specified with describe sub-command")
    if not (status or replication or json):
        raise WrongUsageError("One of --status or --replication must be specified with describe sub-command")
    described = run(_status(_cluster(context)))
    choose_output(json=json).show(QuorumView(status=described, replication=replication, human_readable=human_readable))
    if not json:
        for ghost in described.ghosts:
            print_text(f"warning: {ghost.text}", sys.stderr)


def run_add(context: typer.Context, named: NamedController, *, dry_run: bool, json: bool) -> None:
    """Add a voter: the controller of the configuration file, or the one that is named."""
    cluster = _cluster(context)
    before, after = context.obj
    file = before.command_config or after.command_config
    if named.controller_id is None and file is None:
        raise WrongUsageError(_NO_CONFIGURATION)
    if named.controller_id is None:
        properties = parse_properties(Path(file).read_bytes(), file=file).as_dict()
        member = member_of_properties(properties, kafka_tool(None).release, PosixDisk())
    elif not named.endpoints:
        raise WrongUsageError("--controller-id needs --controller-endpoint, at which the other controllers reach it")
    else:
        _check_id(named.controller_id)
        member = QuorumMember(
            node_id=named.controller_id,
            directory_id=named.directory or run(_observer_directory(cluster, named.controller_id)),
            listeners=dict(map(parse_endpoint, named.endpoints)),
        )
    if not dry_run:
        run(_add(cluster, member))
    choose_output(json=json).show(VoterChangeView(member=member, is_addition=True, is_dry_run=dry_run))


def run_remove(context: typer.Context, named: NamedController, *, dry_run: bool, json: bool) -> None:
    """Remove a voter; its directory is that of the quorum unless it is named."""
    assert named.controller_id is not None, "a required option"
    _check_id(named.controller_id)
    cluster, directory = _cluster(context), named.directory
    directory = directory or run(_voter_directory(cluster, named.controller_id))
    member = QuorumMember(node_id=named.controller_id, directory_id=directory, listeners={})
    if not dry_run:
        run(_remove(cluster, member))
    choose_output(json=json).show(VoterChangeView(member=member, is_addition=False, is_dry_run=dry_run))


def run_upgrade(context: typer.Context, *, dry_run: bool, json: bool) -> None:
    """Raise kraft.version to 1, in the words of kafka-features."""
    result = run(_upgrade(_cluster(context), validate_only=dry_run))
    failure = result.values[KRAFT_VERSION]
    if failure is not None:
        verb = "Can not" if dry_run else "Could not"
        raise CommandFailedError(f"{verb} upgrade {KRAFT_VERSION} to 1. {failure.message}")
    verb = "can be" if dry_run else "was"
    fields = {"feature": KRAFT_VERSION, "level": 1, "dry_run": dry_run}
    choose_output(json=json).show(SentenceView(sentence=f"{KRAFT_VERSION} {verb} upgraded to 1.", fields=fields))


def run_unregister(context: typer.Context, controller_id: int, *, json: bool) -> None:
    """Remove the registration of a controller."""
    run(_unregister(_cluster(context), controller_id))
    sentence = f"Controller {controller_id} is no longer registered."
    choose_output(json=json).show(SentenceView(sentence=sentence, fields={"controller_id": controller_id}))


def _cluster(context: typer.Context) -> ClusterConnection:
    before, after = context.obj
    return cluster_connection(kafka_tool(None), before, after)


def _check_id(controller_id: int) -> None:
    if controller_id < 0:
        raise WrongUsageError(f"Invalid negative --controller-id: {controller_id}")


async def _status(cluster: ClusterConnection) -> QuorumStatus:
    async with cluster.admin() as admin:
        return await quorum_status(admin)


async def _observer_directory(cluster: ClusterConnection, node_id: int) -> bytes:
    async with cluster.admin() as admin:
        return (await find_observer(admin, node_id)).directory_id


async def _voter_directory(cluster: ClusterConnection, node_id: int) -> bytes:
    async with cluster.admin() as admin:
        return (await find_voter(admin, node_id)).directory_id


async def _add(cluster: ClusterConnection, member: QuorumMember) -> None:
    async with cluster.admin() as admin:
        await add_voter(admin, member)


async def _remove(cluster: ClusterConnection, member: QuorumMember) -> None:
    async with cluster.admin() as admin:
        await remove_voter(admin, member.node_id, member.directory_id)


async def _upgrade(cluster: ClusterConnection, *, validate_only: bool) -> UpdateFeaturesResult:
    async with cluster.admin() as admin:
        return await upgrade_to_dynamic_voters(admin, validate_only=validate_only)


async def _unregister(cluster: ClusterConnection, controller_id: int) -> None:
    async with cluster.admin() as admin:
        await unregister_controller(admin, controller_id)
