"""Typed records of a snapshot through an ingest and through Spark, against Kafka's dump tool and a row-by-row decoder.

Budget: records per second and core, >= 20x the dump tool's text, >= 8x a row-at-a-time decoder in the same Spark. Spark
has one core; its start and a first round are left out, while the dump tool's time includes the start of its JVM. Of an
ingest it is the work of a worker from bytes to the files of the warehouse.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import functions as sf

from dump_log import TOOL, to_nowhere
from falkirk.pipeline.filesystem import open_location
from falkirk.pipeline.ingest.run_unit import run_units
from falkirk.pipeline.ingest.survey import IngestOptions
from falkirk.pipeline.ingest.unit import Unit, UnitKind
from falkirk.pipeline.sources.register import register_sources
from falkirk.pipeline.spark.rows import spark_batches, spark_schema
from falkirk.pipeline.spark.session import start_session
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.metadata_records import METADATA_RECORDS
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.protocol.json_form import to_json
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import RecordBatch, read_batches
from falkirk.protocol.uuid import uuid_text
from support.kafka_peer import Peer, measure_against_kafka, snapshot
from support.line import print_line
from support.process import run_process

TURNS = 3
# Kafka's tool and the row decoder take a fifth of a minute for these.
TOPICS_OF_PEERS = 3_000
SESSION = {"spark.driver.memory": "2g"}


def measure(kafka: Peer) -> None:
    large, small = snapshot(kafka), snapshot(kafka, topics=TOPICS_OF_PEERS)
    spark = start_session(master="local[1]", settings=SESSION)
    register_sources(spark)

    def typed(path: Path) -> float:
        return seconds_a_record(lambda: totals(spark.read.format("kraft_log").load(str(path))))

    schema = spark_schema(METADATA_RECORDS)

    def as_spark_has_them(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return spark_batches(decoded_by_row(batches), schema)

    def row_by_row(path: Path) -> float:
        ranges = spark.createDataFrame([(str(path),)], "path string")
        return seconds_a_record(lambda: totals(ranges.mapInArrow(as_spark_has_them, schema)))

    typed(small)
    row_by_row(snapshot(kafka, topics=100))
    ours, ingests, rows, dumps = [], [], [], []
    for _ in range(TURNS):
        ingests.append(ingested(large))
        ours.append(typed(large))
        rows.append(row_by_row(small))
        run = run_process(to_nowhere(kafka.command(TOOL, "--cluster-metadata-decoder", "--files", str(small))))
        dumps.append(run.cpu_seconds / (TOPICS_OF_PEERS * 101))
    spark.stop()
    print_line("typed records through an ingest, a record and core", ingests, dumps, budget=20, against="the dump tool")
    print_line("typed records through Spark, a record and core", ours, dumps, budget=20, against="Kafka's dump tool")
    print_line("typed records through Spark, a record and core", ours, rows, budget=8, against="row by row in Spark")


def ingested(path: Path) -> float:
    """Write the records of a file into a warehouse as a worker does; return the processor time of each."""
    with tempfile.TemporaryDirectory() as folder:
        warehouse, location = Warehouse.make(folder), open_location(str(path))
        size = path.stat().st_size
        unit = Unit(kind=UnitKind.METADATA_RECORDS, cluster="a", location=location, node_id=1, end=size)
        options = IngestOptions(warehouse=warehouse.uri, tables=frozenset(TABLES), split_bytes=size)
        began = time.process_time()
        [(_, piece)] = run_units([unit], options)
        return (time.process_time() - began) / sum(file.rows for file in piece.files)


def totals(frame: Any) -> int:
    """Read every typed field of partitions, so that nothing is left out; return the number of records."""
    lists = ("replicas", "isr", "directories", "eligible_leader_replicas")
    sizes = [sf.sum(sf.size(f"partition.{name}")) for name in lists]
    numbers = [sf.sum(f"partition.{name}") for name in ("leader", "leader_epoch", "partition_epoch", "partition_id")]
    [row] = frame.agg(sf.count("*").alias("records"), sf.max("topic.name"), *sizes, *numbers).collect()
    return int(row["records"])


def seconds_a_record(query: Callable[[], int]) -> float:
    start = time.perf_counter()
    records = query()
    return (time.perf_counter() - start) / records


def decoded_by_row(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows decoded by the row codec: one object per record, rows of Python values, then Arrow."""
    for batch in batches:
        for path in batch.column(0).to_pylist():
            rows: list[dict[str, Any]] = []
            for log_batch in read_batches(Path(path).read_bytes()):
                if not log_batch.is_control:
                    rows += [row_of(log_batch, record, path) for record in log_batch.records()]
                if len(rows) >= 10_000:
                    yield METADATA_RECORDS.rows(rows)
                    rows = []
            yield METADATA_RECORDS.rows(rows)


def row_of(batch: RecordBatch, record: Record, path: str) -> dict[str, Any]:
    message, version = decode_metadata_record(record.value or b"")
    info = type(message).SCHEMA.info
    row = {
        "source": path,
        "is_snapshot": True,
        "position": batch.position,
        "offset": record.offset,
        "epoch": batch.leader_epoch,
        "timestamp": record.timestamp,
        "record_type": info.key,
        "record_name": info.name,
        "record_version": version,
    }
    column = TYPED.get(info.name)
    if column is None:
        return row | {"json": msgspec.json.encode(to_json(message, version)).decode()}
    fields = METADATA_RECORDS.schema.field(column).type
    return row | {column: {field.name: plain(getattr(message, field.name)) for field in fields}}


TYPED = {"PartitionRecord": "partition", "TopicRecord": "topic", "ConfigRecord": "config"}


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return uuid_text(value)
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    measure_against_kafka("fleet_decode", measure)
