"""`falkirk fleet`: the files of many clusters as tables on Spark, and reports of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from falkirk.cli.console.connected_command import connected
from falkirk.cli.console.failure import WrongUsageError
from falkirk.cli.console.options import JsonOption  # noqa: TC001 - Typer reads the annotations when it builds a command
from falkirk.cli.console.output import choose_output
from falkirk.cli.console.progress import PhaseProgress
from falkirk.cli.console.terminal import print_text
from falkirk.cli.fleet.inputs import LIVE_SUFFIX, FleetInputs
from falkirk.cli.fleet.stream_metrics import StreamMetrics, serving
from falkirk.cli.fleet.views import (
    DiffView,
    ExportView,
    ForgottenView,
    GeneratedView,
    HistoryView,
    IngestView,
    MigratedView,
    PreparedView,
    ReportView,
    StreamRound,
    TablesView,
    VacuumView,
)
from falkirk.logdir.target import parse_target
from falkirk.watch.watch_file import listening_endpoint

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

InputsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="INPUT...",
        help="Inventory files (*.yaml), data directories, folders of them, patterns, or URIs (s3://...).",
        show_default=False,
    ),
]
LiveDirOption = Annotated[
    Path | None,
    typer.Option(
        "--live-dir",
        metavar="DIR",
        help=f"Where the logs of running clusters are kept; default: the warehouse's name and {LIVE_SUFFIX}.",
    ),
]
WarehouseOption = Annotated[str, typer.Option("--warehouse", metavar="DIR", help="Where the tables are.")]
RequestLogOption = Annotated[
    list[str] | None,
    typer.Option("--request-log", metavar="FILE", help="A request log of the one cluster named; may be repeated."),
]
TablesOption = Annotated[
    str | None, typer.Option("--tables", metavar="TABLE,...", help="Only these tables; default: all.")
]
ClustersOption = Annotated[
    str | None,
    typer.Option("--clusters", metavar="NAME,...", help="Only these clusters of the inputs; patterns as orders-*."),
]
ChosenOption = Annotated[
    str | None,
    typer.Option("--clusters", metavar="NAME,...", help="Only these clusters of the warehouse; patterns as orders-*."),
]
KeepSecretsOption = Annotated[
    bool,
    typer.Option("--keep-secrets", help="Keep passwords and SCRAM credentials in the tables; marks the warehouse."),
]
MasterOption = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Spark's master; default: this process, on all cores."),
]
SparkConfOption = Annotated[
    list[str] | None,
    typer.Option("--spark-conf", metavar="KEY=VALUE", help="A setting of Spark; may be repeated."),
]
ToOption = Annotated[
    str,
    typer.Option("--to", metavar="LEVEL|RELEASE", help="Where to go: 3.9-IV0, or 3.9 for its latest level."),
]
DEFAULT_WAREHOUSE = "fleet-warehouse"


@app.command("ingest")
@connected
def ingest_command(
    context: typer.Context,
    inputs: InputsArgument = None,
    *,
    live_dir: LiveDirOption = None,
    warehouse: WarehouseOption = DEFAULT_WAREHOUSE,
    request_log: RequestLogOption = None,
    as_of: Annotated[
        int | None, typer.Option("--as-of", metavar="OFFSET", help="State before this offset of the metadata log.")
    ] = None,
    clusters: ClustersOption = None,
    tables: TablesOption = None,
    keep_secrets: KeepSecretsOption = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Read everything again, not only what is new.")] = False,
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonOption = False,
) -> None:
    """Bring the tables of a warehouse up to date with the files of a fleet, or with the logs of a running cluster.

    Reads only what is new; a second run changes nothing. With --bootstrap-server or --bootstrap-controller the metadata
    log of that cluster is fetched and, from its brokers, __consumer_offsets and __transaction_state.
    """
    from falkirk.pipeline.ingest.run import ingest  # noqa: PLC0415 - the extra `spark` may be missing
    from falkirk.pipeline.inventory import find_fleet, only_clusters  # noqa: PLC0415 - same
    from falkirk.pipeline.warehouse.warehouse import Warehouse  # noqa: PLC0415 - same

    wanted = _tables(tables)
    _, connection = context.obj
    sources = FleetInputs(inputs, connection, warehouse, live_dir)
    sources.refresh()
    fleet = find_fleet(sources.names, request_logs=request_log or (), as_of=as_of)
    fleet = only_clusters(fleet, _names(clusters))
    with _spark(master, spark_conf) as spark, PhaseProgress() as progress:
        place = Warehouse.make(warehouse, keep_secrets=keep_secrets)
        report = ingest(spark, place, fleet, tables=wanted, rebuild=rebuild, progress=progress)
    choose_output(json=json).show(IngestView(report))


@app.command("report")
def report_command(
    *,
    to: ToOption,
    release: Annotated[
        str | None,
        typer.Option(
            "--release", metavar="RELEASE", help="The release that will run there; default: the oldest that can."
        ),
    ] = None,
    warehouse: WarehouseOption = DEFAULT_WAREHOUSE,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where report.html, report.json and Parquet files go.")
    ] = Path("fleet-report"),
    clusters: ChosenOption = None,
    status_of: Annotated[
        str | None,
        typer.Option(
            "--status-of",
            metavar="TAG=VALUE,...",
            help="Only clusters with these tags decide the exit status: environment=production.",
        ),
    ] = None,
    ghost_days: Annotated[
        int, typer.Option("--ghost-days", metavar="N", help="Fenced for so long, a broker counts as gone.", min=0)
    ] = 7,
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonOption = False,
) -> NoReturn:
    """Report what a level or release would cost the fleet, and which clusters are blocked.

    Exit status: 1 if a cluster is blocked, else 3 if something would be lost, else 0. With --status-of clusters with
    other tags do not count; the report has them all the same.
    """
    from falkirk.pipeline.reports.fleet_report import make_report  # noqa: PLC0415 - same
    from falkirk.pipeline.warehouse.warehouse import Warehouse  # noqa: PLC0415 - the extra `spark` may be missing

    target = parse_target(to, read_by=release)
    place, names, tags = Warehouse.open(warehouse), _names(clusters), _tags(status_of)
    with _spark(master, spark_conf) as spark, PhaseProgress() as progress:
        report = make_report(
            spark,
            place,
            out,
            target.metadata_version,
            target.release,
            clusters=names,
            status_of=tags,
            ghost_days=ghost_days,
            progress=progress,
        )
    choose_output(json=json).show(ReportView(report, out))
    raise typer.Exit(report.status)


@app.command("stream")
@connected
def stream_command(
    context: typer.Context,
    inputs: InputsArgument = None,
    *,
    live_dir: LiveDirOption = None,
    warehouse: WarehouseOption = DEFAULT_WAREHOUSE,
    request_log: RequestLogOption = None,
    clusters: ClustersOption = None,
    tables: TablesOption = None,
    keep_secrets: KeepSecretsOption = False,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", help="Wait so long between two rounds.", min=0)
    ] = 10,
    rounds: Annotated[
        int | None, typer.Option("--rounds", metavar="N", help="End after so many rounds; default: never.", min=1)
    ] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", metavar="HOST:PORT", help="Serve Prometheus metrics here.")
    ] = None,
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonOption = False,
) -> None:
    """Keep the tables current while files, or the logs of a running cluster, grow, until Ctrl-C.

    The warehouse's manifests are the checkpoints: after a kill the next start continues at the last commit.
    With --json each round that changed something is one line.
    """
    from falkirk.pipeline.ingest.stream import stream  # noqa: PLC0415 - same
    from falkirk.pipeline.inventory import find_fleet, only_clusters  # noqa: PLC0415 - same
    from falkirk.pipeline.warehouse.warehouse import Warehouse  # noqa: PLC0415 - the extra `spark` may be missing

    wanted = _tables(tables)
    endpoint = None if metrics is None else listening_endpoint("metrics", metrics)
    _, connection = context.obj
    sources = FleetInputs(inputs, connection, warehouse, live_dir)
    # Errors of the inputs come before Spark starts, which takes seconds.
    sources.refresh()
    only_clusters(find_fleet(sources.names, request_logs=request_log or ()), _names(clusters))
    counted = StreamMetrics()
    with _spark(master, spark_conf) as spark, serving(counted, endpoint):
        place = Warehouse.make(warehouse, keep_secrets=keep_secrets)
        for number, report in stream(
            spark,
            place,
            sources.names,
            request_logs=request_log or (),
            clusters=_names(clusters),
            tables=wanted,
            interval_seconds=interval,
            rounds=rounds,
            before_round=sources.refresh,
        ):
            counted.round_ended(report)
            if report.changed:
                StreamRound(number, report).show(json=json)


@app.command("export")
def export_command(
    *,
    format_: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="A format that Spark writes: orc; delta with its package.")
    ],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Where the tables go, as Spark names it.")],
    warehouse: WarehouseOption = DEFAULT_WAREHOUSE,
    clusters: ChosenOption = None,
    tables: TablesOption = None,
    master: MasterOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonOption = False,
) -> None:
    """Write the tables of a warehouse in another format, partitioned by cluster."""
    from falkirk.pipeline.warehouse.export import export  # noqa: PLC0415 - the extra `spark` may be missing
    from falkirk.pipeline.warehouse.warehouse import Warehouse  # noqa: PLC0415 - same

    wanted = _tables(tables)
    place, names = Warehouse.open(warehouse), _names(clusters)
    with _spark(master, spark_conf, few_rows=False) as spark, PhaseProgress() as progress:
        rows = export(spark, place, out, format_=format_, tables=wanted, clusters=names, progress=progress)
    choose_output(json=json).show(ExportView(out, rows))


@app.command("forget")
def forget_command(
    clusters: Annotated[list[str], typer.Argument(metavar="CLUSTER...", help="Names of clusters.", show_default=False)],
    *,
    warehouse: WarehouseOption = DEFAULT_WAREHOUSE,
    json: JsonOption = False,
) -> None:
    """Remove clusters from all tables of a warehouse. Their files are not touched."""
    from falkirk.pipeline.warehouse.commit import Change  # noqa: PLC0415 - the extra `spark` may be missing
    from falkirk.pipeline.warehouse.warehouse import Warehouse  # noqa: PLC0415 - same

    place = Warehouse.open(warehouse)
    with place.writing():
        place.check_known(clusters)
        changes = [Change(cluster, place.manifest(cluster), None) for cluster in dict.fromkeys(clusters)]
        place.commit(changes)
    choose_output(json=json).show(ForgottenView([change.before for change in changes if change.before is not None]))


@app.command("diff")
def diff_command(
    before: Annotated[Path, typer.Argument(metavar="A", help="Directory of the earlier report.", show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="B", help="Directory of the later one.", show_default=False)],
    *,
    json: JsonOption = False,
) -> None:
    """Show what differs between two reports on one target, cluster by cluster."""
    from falkirk.pipeline.reports.report_diff import (  # noqa: PLC0415 - the extra `spark` may be missing
        read_document,
        what_is_new,
    )

    choose_output(json=json).show(DiffView(what_is_new(read_document(before), read_document(after))))


@app.command("vacuum")
def vacuum_command(
    *,
    warehouse: WarehouseOption = DEFAULT_WAREHOUSE,
    retain_hours: Annotated[
        int,
        typer.Option("--retain-hours", metavar="N", help="Commits of the last N hours stay readable.", min=0),
    ] = 168,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many files would go.")] = False,
    json: JsonOption = False,
) -> None:
    """Remove data files that no commit of the last hours has.

    They are those that later commits replaced or forgot, and those of runs that were killed.
    """
    from falkirk.pipeline.warehouse.vacuum import vacuum  # noqa: PLC0415 - the extra `spark` may be missing
    from falkirk.pipeline.warehouse.warehouse import Warehouse  # noqa: PLC0415 - same

    removed = vacuum(Warehouse.open(warehouse), retention_hours=retain_hours, dry_run=dry_run)
    choose_output(json=json).show(VacuumView(removed, dry_run=dry_run))


@app.command("history")
def history_command(*, warehouse: WarehouseOption = DEFAULT_WAREHOUSE, json: JsonOption = False) -> None:
    """List the commits of a warehouse that can still be read."""
    from falkirk.pipeline.warehouse.warehouse import Warehouse  # noqa: PLC0415 - the extra `spark` may be missing

    choose_output(json=json).show(HistoryView(Warehouse.open(warehouse).marks()))


@app.command("migrate")
def migrate_command(*, warehouse: WarehouseOption = DEFAULT_WAREHOUSE, json: JsonOption = False) -> None:
    """Make Delta Lake tables of a warehouse that an older falkirk wrote. No data file moves."""
    from falkirk.pipeline.warehouse.migrate import migrate  # noqa: PLC0415 - the extra `spark` may be missing
    from falkirk.pipeline.warehouse.warehouse import Warehouse  # noqa: PLC0415 - same

    choose_output(json=json).show(MigratedView(migrate(Warehouse(warehouse))))


@app.command("tables")
def tables_command(*, json: JsonOption = False) -> None:
    """List the tables of a warehouse and their columns."""
    from falkirk.pipeline.tables import TABLES  # noqa: PLC0415 - the extra `spark` may be missing

    choose_output(json=json).show(TablesView(TABLES))


@app.command("prepare")
def prepare_command(*, json: JsonOption = False) -> None:
    """Keep Spark's classes in the cache, so that fleet commands start in half the time: once for each machine."""
    from falkirk.pipeline.reports.preparation import prepare  # noqa: PLC0415 - the extra `spark` may be missing

    with PhaseProgress() as progress:
        file = prepare(progress)
    choose_output(json=json).show(PreparedView(file, file.stat().st_size))


@app.command("generate")
def generate_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new directory.", show_default=False)],
    *,
    clusters: Annotated[int, typer.Option("--clusters", metavar="N", help="How many clusters.", min=1)] = 10,
    partitions: Annotated[int, typer.Option("--partitions", metavar="N", help="Partitions of each.", min=1)] = 100,
    groups: Annotated[int, typer.Option("--groups", metavar="N", help="Groups of each.", min=0)] = 5,
    coordinator_partitions: Annotated[
        int,
        typer.Option("--coordinator-partitions", metavar="N", help="Partitions of each __consumer_offsets.", min=1),
    ] = 50,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Another seed makes another fleet.")] = 1,
    json: JsonOption = False,
) -> None:
    """Generate a fleet for trials: data directories of any number of clusters."""
    from falkirk.pipeline.made_fleet import FleetShape, make_fleet  # noqa: PLC0415 - as above

    if out.exists():
        raise WrongUsageError(f"{out}: exists; name a new directory")
    shape = FleetShape(
        clusters=clusters,
        partitions=partitions,
        groups=groups,
        coordinator_partitions=coordinator_partitions,
        seed=seed,
    )
    with PhaseProgress() as progress:
        done = 0

        def on_cluster() -> None:
            nonlocal done
            done += 1
            progress.update("making clusters", done, clusters)

        make_fleet(out, shape, on_cluster=on_cluster)
    choose_output(json=json).show(GeneratedView(out, shape))


def _names(text: str | None) -> tuple[str, ...]:
    """Return the names or patterns of `--clusters`."""
    names = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    if text is not None and not names:
        raise WrongUsageError("--clusters: names no cluster")
    return names


def _tags(text: str | None) -> dict[str, set[str]]:
    """Return the values of each tag of `--status-of`."""
    from falkirk.pipeline.fleet import TAGS  # noqa: PLC0415 - the extra `spark` may be missing

    found: dict[str, set[str]] = {}
    for part in () if text is None else text.split(","):
        name, _, value = (each.strip() for each in part.partition("="))
        if name not in TAGS or not value:
            raise WrongUsageError(f"--status-of: {part!r} is not TAG=VALUE; tags are {', '.join(TAGS)}")
        found.setdefault(name, set()).add(value)
    return found


def _tables(text: str | None) -> frozenset[str]:
    from falkirk.pipeline.tables import TABLES  # noqa: PLC0415 - the extra `spark` may be missing

    if text is None:
        return frozenset(TABLES)
    names = {name.strip() for name in text.split(",") if name.strip()}
    unknown = sorted(names - set(TABLES))
    if unknown or not names:
        raise WrongUsageError(
            f"--tables: no table is called {', '.join(unknown) or repr(text)}; `falkirk fleet tables`"
        )
    return frozenset(names)


def _spark(
    master: str | None, settings: list[str] | None, *, few_rows: bool = True
) -> AbstractContextManager[SparkSession]:
    from falkirk.pipeline.spark.session import spark_session  # noqa: PLC0415 - the extra `spark` may be missing

    pairs = {}
    for text in settings or []:
        key, separator, value = text.partition("=")
        if not separator:
            raise WrongUsageError(f"--spark-conf: {text!r} is not KEY=VALUE")
        pairs[key] = value
    if sys.stderr.isatty():
        print_text("starting Spark ...", sys.stderr)
    return spark_session(master=master, settings=pairs, few_rows=few_rows)
