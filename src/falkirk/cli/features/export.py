"""`falkirk features export`: the features of a cluster on ZooKeeper as levels of KRaft."""

from __future__ import annotations

from typing import Annotated

import typer

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.options import JsonOption  # noqa: TC001 - Typer reads the annotations
from falkirk.cli.console.output import choose_output

ZooKeeperOption = Annotated[
    str,
    typer.Option(
        "--zookeeper", metavar="HOST:PORT[,...][/CHROOT]", help="Where the cluster is, as zookeeper.connect has it."
    ),
]
PathOption = Annotated[
    str | None,
    typer.Option("--path", metavar="ZNODE", help="The features' znode; default: /features, else Kafka's /feature."),
]
ProtocolOption = Annotated[
    str | None,
    typer.Option(
        "--inter-broker-protocol",
        metavar="VERSION",
        help="The brokers' inter.broker.protocol.version, as 3.9; ZooKeeper has it only if ibp-feature is finalized.",
    ),
]


def export(
    *,
    zookeeper: ZooKeeperOption,
    path: PathOption = None,
    inter_broker_protocol: ProtocolOption = None,
    json: JsonOption = False,
) -> None:
    """Read the features of a cluster on ZooKeeper, and print their levels in KRaft.

    Changes nothing. The exit status is 1 if anything is in the way of KRaft.
    """
    from falkirk.cli.features.export_view import ExportView  # noqa: PLC0415 - for this command only
    from falkirk.operations.zookeeper_export import export_features  # noqa: PLC0415 - and it needs kazoo

    found = export_features(zookeeper, path=path, inter_broker_protocol=inter_broker_protocol)
    choose_output(json=json).show(ExportView(found))
    if found.obstacles:
        raise typer.Exit(ExitCode.FAILED)
