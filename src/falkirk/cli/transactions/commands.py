"""`falkirk transactions`: as kafka-transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from falkirk.cli.console.failure import CommandFailedError, WrongUsageError
from falkirk.cli.console.options import (
    BootstrapServerOption,  # noqa: TC001 - Typer reads the annotations when it builds a command
    CommandConfigOption,  # noqa: TC001 - same
    JsonOption,  # noqa: TC001 - same
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from falkirk.cli.transactions.views import TransactionTable
    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.transactions import ProducerDescription

T = TypeVar("T")
_MS_IN_A_MINUTE: Final = 60_000

TopicOption = Annotated[str, typer.Option("--topic", metavar="TOPIC", help="The partition's topic.")]
PartitionOption = Annotated[int, typer.Option("--partition", metavar="N", help="The partition's number.")]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_command(
    *,
    duration_filter: Annotated[
        int, typer.Option("--duration-filter", metavar="MS", help="Only transactions that run longer; from 3.8 on.")
    ] = -1,
    transactional_id_pattern: Annotated[
        str | None,
        typer.Option("--transactional-id-pattern", metavar="REGEX", help="Only ids that match (RE2); from 4.1 on."),
    ] = None,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List transactional ids, by coordinator."""
    from falkirk.cli.transactions.views import listing_table  # noqa: PLC0415 - for commands that run
    from falkirk.client.transactions import list_transactions  # noqa: PLC0415 - same

    found = _run(
        bootstrap_server,
        command_config,
        lambda admin: list_transactions(admin, longer_than_ms=duration_filter, pattern=transactional_id_pattern),
    )
    _show(listing_table(found), json=json)


@app.command("describe")
def describe(
    *,
    transactional_id: Annotated[str, typer.Option("--transactional-id", metavar="ID", help="The id to describe.")],
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Describe the last transaction of a transactional id."""
    from falkirk.cli.transactions.views import description_table  # noqa: PLC0415 - for commands that run
    from falkirk.client.refusal import Refusal  # noqa: PLC0415 - same
    from falkirk.client.transactions import describe_transactions  # noqa: PLC0415 - same

    answers = _run(bootstrap_server, command_config, lambda admin: describe_transactions(admin, [transactional_id]))
    answer = answers[transactional_id]
    if isinstance(answer, Refusal):
        raise CommandFailedError(
            f"Failed to describe transaction state of transactional-id `{transactional_id}`: {answer}"
        )
    _show(description_table(answer, _now_ms()), json=json)


@app.command("describe-producers")
def describe_producers_command(
    *,
    topic: TopicOption,
    partition: PartitionOption,
    broker_id: Annotated[
        int | None, typer.Option("--broker-id", metavar="ID", help="Ask this replica instead of the leader.")
    ] = None,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Describe the producers that a partition knows."""
    from falkirk.cli.transactions.views import producers_table  # noqa: PLC0415 - for commands that run

    producers = _run(bootstrap_server, command_config, lambda admin: _producers(admin, topic, partition, broker_id))
    _show(producers_table(producers), json=json)


@app.command("find-hanging")
def find_hanging_command(
    *,
    topic: Annotated[str | None, typer.Option("--topic", metavar="TOPIC", help="Search this topic.")] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", metavar="N", help="Search this partition of the topic.")
    ] = None,
    broker_id: Annotated[
        int | None, typer.Option("--broker-id", metavar="ID", help="Search the replicas on this broker.")
    ] = None,
    max_transaction_timeout: Annotated[
        int, typer.Option("--max-transaction-timeout", metavar="MINUTES", min=0, help="Only older transactions.")
    ] = 15,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Find transactions that are open in a partition and that no coordinator will end."""
    from falkirk.cli.transactions.views import hanging_table  # noqa: PLC0415 - for commands that run
    from falkirk.operations.hanging_transactions import find_hanging  # noqa: PLC0415 - same

    if topic is None and broker_id is None:
        raise WrongUsageError("limit the search with --topic or --broker-id")
    if topic is None and partition is not None:
        raise WrongUsageError("--partition needs --topic")
    now_ms = _now_ms()
    found = _run(
        bootstrap_server,
        command_config,
        lambda admin: find_hanging(
            admin,
            topic=topic,
            partition=partition,
            broker_id=broker_id,
            max_timeout_ms=max_transaction_timeout * _MS_IN_A_MINUTE,
            now_ms=now_ms,
        ),
    )
    _show(hanging_table(found, now_ms), json=json)


@app.command("abort")
def abort(
    *,
    topic: TopicOption,
    partition: PartitionOption,
    start_offset: Annotated[
        int | None, typer.Option("--start-offset", metavar="OFFSET", help="Where the transaction begins.")
    ] = None,
    producer_id: Annotated[
        int | None, typer.Option("--producer-id", metavar="ID", help="Instead of --start-offset.")
    ] = None,
    producer_epoch: Annotated[
        int | None, typer.Option("--producer-epoch", metavar="EPOCH", help="With --producer-id.")
    ] = None,
    coordinator_epoch: Annotated[
        int | None, typer.Option("--coordinator-epoch", metavar="EPOCH", help="With --producer-id.")
    ] = None,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Abort a hanging transaction in one partition, past its coordinator."""
    from falkirk.cli.console.output import choose_output  # noqa: PLC0415 - for commands that run
    from falkirk.cli.console.sentence_view import SentenceView  # noqa: PLC0415 - same

    by_producer = (producer_id, producer_epoch, coordinator_epoch)
    if start_offset is None and None in by_producer:
        raise WrongUsageError(
            "name the transaction with --start-offset, or with --producer-id, --producer-epoch and --coordinator-epoch"
        )

    async def run(admin: AsyncAdmin) -> tuple[int, int]:
        if start_offset is not None:
            found = await _open_at(admin, topic, partition, start_offset)
            producer = (found.producer_id, found.producer_epoch, found.coordinator_epoch)
            return await _abort(admin, topic, partition, producer)
        assert producer_id is not None
        assert producer_epoch is not None
        assert coordinator_epoch is not None
        return await _abort(admin, topic, partition, (producer_id, producer_epoch, coordinator_epoch))

    aborted_id, aborted_epoch = _run(bootstrap_server, command_config, run)
    fields = {"topic": topic, "partition": partition, "producer_id": aborted_id, "producer_epoch": aborted_epoch}
    sentence = f"The transaction of producer {aborted_id} in {topic}-{partition} is aborted."
    choose_output(json=json).show(SentenceView(sentence=sentence, fields=fields))


async def _producers(
    admin: AsyncAdmin, topic: str, partition: int, broker_id: int | None
) -> tuple[ProducerDescription, ...]:
    from falkirk.client.refusal import Refusal  # noqa: PLC0415 - for commands that run
    from falkirk.client.transactions import describe_producers  # noqa: PLC0415 - same
    from falkirk.operations.hanging_transactions import broker_node  # noqa: PLC0415 - same
    from falkirk.protocol.topic_partition import TopicPartition  # noqa: PLC0415 - same

    key = TopicPartition(topic, partition)
    broker = None if broker_id is None else await broker_node(admin, broker_id)
    answer = (await describe_producers(admin, [key], broker=broker))[key]
    if isinstance(answer, Refusal):
        where = "leader" if broker_id is None else f"broker {broker_id}"
        raise CommandFailedError(f"Failed to describe producers for partition {key} on {where}: {answer}")
    return answer


async def _open_at(admin: AsyncAdmin, topic: str, partition: int, start_offset: int) -> ProducerDescription:
    for producer in await _producers(admin, topic, partition, None):
        if producer.transaction_start_offset == start_offset:
            return producer
    raise CommandFailedError(
        f"Could not find any open transactions starting at offset {start_offset} on partition {topic}-{partition}"
    )


async def _abort(admin: AsyncAdmin, topic: str, partition: int, producer: tuple[int, int, int]) -> tuple[int, int]:
    """Abort the transaction of a producer: its id, its epoch, and that of its coordinator."""
    from falkirk.client.transactions import abort_transaction  # noqa: PLC0415 - for commands that run
    from falkirk.protocol.topic_partition import TopicPartition  # noqa: PLC0415 - same

    key = TopicPartition(topic, partition)
    producer_id, producer_epoch, coordinator_epoch = producer
    refusal = await abort_transaction(
        admin,
        key,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        # Where no marker was written yet; 0 is below the epoch of any coordinator.
        coordinator_epoch=max(coordinator_epoch, 0),
    )
    if refusal is not None:
        raise CommandFailedError(f"Failed to abort the transaction of producer {producer_id} in {key}: {refusal}")
    return producer_id, producer_epoch


def _run(
    servers: str | None,
    command_config: str | None,
    question: Callable[[AsyncAdmin], Coroutine[Any, Any, T]],  # Any: what a coroutine yields to its event loop
) -> T:
    from falkirk.cli.console.client_config import read_client_config  # noqa: PLC0415 - for commands that run
    from falkirk.client.admin import AsyncAdmin  # noqa: PLC0415 - same
    from falkirk.client.config import parse_servers  # noqa: PLC0415 - same
    from falkirk.client.event_loop import run  # noqa: PLC0415 - same

    if servers is None:
        raise WrongUsageError("name the brokers with --bootstrap-server")
    config = read_client_config(command_config)

    async def ask() -> T:
        async with AsyncAdmin(parse_servers(servers), config) as admin:
            return await question(admin)

    return run(ask())


def _show(table: TransactionTable, *, json: bool) -> None:
    from falkirk.cli.console.output import choose_output  # noqa: PLC0415 - for commands that run

    choose_output(json=json).show(table)


def _now_ms() -> int:
    import time  # noqa: PLC0415 - for commands that run

    return int(time.time() * 1000)
