"""`falkirk brokers`: registrations of brokers, as kafka-cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from falkirk.cli.console.connected_command import connected
from falkirk.cli.console.options import (  # Typer reads the annotations when it builds a command
    BootstrapControllerOption,
    BootstrapServerOption,
    CommandConfigOption,
    ConnectionOptions,
    JsonOption,
)

if TYPE_CHECKING:
    from falkirk.cli.console.cluster_connection import ClusterConnection

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def brokers(
    context: typer.Context,
    *,
    bootstrap_server: BootstrapServerOption = None,
    bootstrap_controller: BootstrapControllerOption = None,
    command_config: CommandConfigOption = None,
) -> None:
    """Keep the connection options that precede the command; commands have them as well."""
    context.obj = ConnectionOptions(
        bootstrap_server=bootstrap_server, bootstrap_controller=bootstrap_controller, command_config=command_config
    )


@app.command("unregister")
@connected
def unregister(
    context: typer.Context,
    *,
    broker_id: Annotated[int, typer.Option("--id", "-i", metavar="ID", help="The id of the broker to unregister.")],
    json: JsonOption = False,
) -> None:
    """Remove the registration of a broker that is gone for good: it blocks changes of levels."""
    from falkirk.cli.console.cluster_connection import cluster_connection  # noqa: PLC0415 - for commands that run
    from falkirk.cli.console.kafka_tool import kafka_tool  # noqa: PLC0415 - same
    from falkirk.cli.console.output import choose_output  # noqa: PLC0415 - same
    from falkirk.cli.console.sentence_view import SentenceView  # noqa: PLC0415 - same
    from falkirk.client.event_loop import run  # noqa: PLC0415 - same

    before, after = context.obj
    run(_unregister(cluster_connection(kafka_tool(None), before, after), broker_id))
    sentence = f"Broker {broker_id} is no longer registered."
    choose_output(json=json).show(SentenceView(sentence=sentence, fields={"broker_id": broker_id}))


async def _unregister(cluster: ClusterConnection, broker_id: int) -> None:
    from falkirk.client.registrations import unregister_broker  # noqa: PLC0415 - for commands that run

    async with cluster.admin() as admin:
        await unregister_broker(admin, broker_id)
