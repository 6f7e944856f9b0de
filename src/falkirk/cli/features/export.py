"""`falkirk features export`: the features of a cluster on ZooKeeper as levels of KRaft."""

from __future__ import annotations

from pathlib import Path
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
TlsConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--zk-tls-config-file",
        metavar="FILE",
        help="Properties of a secured ZooKeeper as brokers have them: zookeeper.ssl.*, "
        "falkirk.zookeeper.sasl.jaas.config.",
    ),
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
    zk_tls_config_file: TlsConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Read the features of a cluster on ZooKeeper, and print their levels in KRaft.

    Changes nothing. The exit status is 1 if anything is in the way of KRaft.
    """
    from falkirk.cli.features.export_view import ExportView  # noqa: PLC0415 - for this command only
    from falkirk.operations.foreign_keys import read_properties  # noqa: PLC0415 - as below
    from falkirk.operations.zookeeper_export import export_features  # noqa: PLC0415 - and it needs kazoo

    properties = None if zk_tls_config_file is None else read_properties(zk_tls_config_file)
    found = export_features(zookeeper, path=path, inter_broker_protocol=inter_broker_protocol, properties=properties)
    choose_output(json=json).show(ExportView(found))
    if found.obstacles:
        raise typer.Exit(ExitCode.FAILED)
