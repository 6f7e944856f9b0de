"""The commands of the program: their names, what each is for, and the module that is imported when one is chosen."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    import typer


@dataclass(frozen=True, slots=True)
class Command:
    """The first word after `falkirk`. Its module has an `app` (a group of commands) or a function `command`."""

    name: str
    module: str
    help: str
    is_group: bool = True


COMMANDS: Final = (
    Command("features", "falkirk.cli.features.commands", "Feature levels, changed and explained (kafka-features)."),
    Command("groups", "falkirk.cli.groups.commands", "Consumer groups and their offsets (kafka-consumer-groups)."),
    Command(
        "transactions", "falkirk.cli.transactions.commands", "Transactions, and those that hang (kafka-transactions)."
    ),
    Command("quorum", "falkirk.cli.quorum.commands", "The quorum and its voters (kafka-metadata-quorum)."),
    Command("brokers", "falkirk.cli.brokers.commands", "Registrations of brokers (kafka-cluster)."),
    Command("storage", "falkirk.cli.storage.commands", "What formatting a node needs to know (kafka-storage)."),
    Command("serve", "falkirk.cli.cluster.serve", "Run one node of a cluster (kafka-server-start).", is_group=False),
    Command("cluster", "falkirk.cli.cluster.commands", "Run a whole cluster on this machine."),
    Command("zookeeper", "falkirk.cli.cluster.zookeeper", "A ZooKeeper and brokers on it, for a try-out (KIP-584)."),
    Command("logdir", "falkirk.cli.logdir.commands", "Stopped data directories: inspect, downgrade, verify, undo."),
    Command("lift", "falkirk.cli.lift.commands", "Lower a running cluster: what it costs, and how it is done."),
    Command("watch", "falkirk.cli.watch.command", "Follow running clusters: can they still go back?", is_group=False),
    Command("fleet", "falkirk.cli.fleet.commands", "Many clusters' files as tables on Spark, and a report."),
    Command(
        "dump-log",
        "falkirk.cli.dump_log",
        "Print log segments, snapshots and indexes (kafka-dump-log).",
        is_group=False,
    ),
    Command(
        "api-versions",
        "falkirk.cli.api_versions.command",
        "What nodes speak (kafka-broker-api-versions).",
        is_group=False,
    ),
    Command(
        "simulate",
        "falkirk.cli.simulate",
        "A cluster with faults in one process, from a seed.",
        is_group=False,
    ),
    Command("explore", "falkirk.cli.explore", "All runs of a small quorum, up to a depth.", is_group=False),
    Command("rehearse", "falkirk.cli.rehearse", "Play a roll on a real cluster's metadata.", is_group=False),
    Command("wire", "falkirk.cli.wire", "Decode and encode Kafka messages, hex to JSON and back."),
    Command("completion", "falkirk.cli.completion", "A script that completes commands in a shell.", is_group=False),
)


def add(application: typer.Typer, command: Command) -> None:
    """Import a command's module, and add the command to the program."""
    module = importlib.import_module(command.module)
    if command.is_group:
        group: typer.Typer = module.app
        application.add_typer(group, name=command.name, help=command.help)
    else:
        function: Callable[..., None] = module.command
        application.command(command.name, help=command.help)(function)
