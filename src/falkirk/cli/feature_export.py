"""`falkirk features export`: from the features of a cluster on ZooKeeper to levels of KRaft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from falkirk.cli.exit_code import ExitCode
from falkirk.cli.options import JsonOption  # noqa: TC001 - Typer reads the annotations
from falkirk.cli.output import choose_output

if TYPE_CHECKING:
    from falkirk.cli.feature_export_view import FeatureExport

KIP_584_PATH = "/features"
KAFKA_PATH = "/feature"

ZooKeeperOption = Annotated[
    str,
    typer.Option(
        "--zookeeper", metavar="HOST:PORT[,...][/CHROOT]", help="Where the cluster is, as zookeeper.connect has it."
    ),
]
PathOption = Annotated[
    str | None,
    typer.Option(
        "--path", metavar="ZNODE", help=f"The features' znode; default: {KIP_584_PATH}, else Kafka's {KAFKA_PATH}."
    ),
]
ProtocolOption = Annotated[
    str | None,
    typer.Option(
        "--inter-broker-protocol",
        metavar="VERSION",
        help="The brokers' inter.broker.protocol.version, as 3.9; ZooKeeper tells it only if ibp-feature is finalized.",
    ),
]


def export(
    *,
    zookeeper: ZooKeeperOption,
    path: PathOption = None,
    inter_broker_protocol: ProtocolOption = None,
    json: JsonOption = False,
) -> None:
    """Read the features of a cluster on ZooKeeper, and say which levels they are in KRaft.

    Changes nothing. The exit status is 1 if anything is in the way of KRaft.
    """
    found = export_from(zookeeper, path, inter_broker_protocol)
    choose_output(json=json).show(found)
    if found.obstacles:
        raise typer.Exit(ExitCode.FAILED)


def export_from(connect: str, path: str | None, inter_broker_protocol: str | None) -> FeatureExport:
    """Read the state and judge it. Raises what `cli.failure` explains."""
    from falkirk.cli.failure import CommandFailedError, WrongUsageError  # noqa: PLC0415 - for this command only
    from falkirk.cli.feature_export_view import FeatureExport  # noqa: PLC0415 - same
    from falkirk.cli.zookeeper_state import read_zookeeper_state  # noqa: PLC0415 - and it needs kazoo
    from falkirk.metadata.zookeeper.finalized_features import DISABLED  # noqa: PLC0415 - same
    from falkirk.metadata.zookeeper.kraft_levels import broker_obstacles, kraft_levels  # noqa: PLC0415 - same
    from falkirk.node.zookeeper.connect_string import is_znode_path, parse_connect_string  # noqa: PLC0415 - same
    from falkirk.versions.config_definition import ConfigError  # noqa: PLC0415 - same
    from falkirk.versions.inter_broker_protocol import parse  # noqa: PLC0415 - same

    if path is not None and not is_znode_path(path):
        raise WrongUsageError(f"--path: {path} is not the path of a znode")
    try:
        address = parse_connect_string(connect, "--zookeeper")
    except ConfigError as error:
        raise WrongUsageError(str(error)) from error
    protocol = None if inter_broker_protocol is None else parse(inter_broker_protocol)
    found = read_zookeeper_state(address, (KIP_584_PATH, KAFKA_PATH) if path is None else (path,))
    if path is not None and found.features is None:
        raise CommandFailedError(f"ZooKeeper {address}: there is no znode {path}")
    state = found.features or DISABLED
    levels = kraft_levels(state, ibp=protocol)
    obstacles = (*levels.obstacles, *broker_obstacles(state, found.brokers, levels), *found.faults)
    return FeatureExport(found, levels, obstacles)
