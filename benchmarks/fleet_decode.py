"""Typed records of a snapshot through Spark, against Kafka's dump tool and against a decoder that goes row by row.

Budget: records a second and core, >= 20x the dump tool's text, >= 8x a row-at-a-time decoder in the same Spark. Spark
has one core; its start and a first round are left out, while of the dump tool the start of its JVM is a part.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from falkirk.pipeline.sources.register import register_sources
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from dump_log import TOOL, to_nowhere
from falkirk.pipeline.session import start_session
from falkirk.protocol.messages import PartitionRecord, TopicRecord
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.protocol.record_batch import read_batches
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

    def row_by_row(path: Path) -> float:
        ranges = spark.createDataFrame([(str(path),)], "path string")
        return seconds_a_record(lambda: totals(ranges.mapInArrow(decoded_by_row, ROW_SCHEMA)))

    typed(small)
    row_by_row(snapshot(kafka, topics=100))
    ours, rows, dumps = [], [], []
    for _ in range(TURNS):
        ours.append(typed(large))
        rows.append(row_by_row(small))
        run = run_process(to_nowhere(kafka.command(TOOL, "--cluster-metadata-decoder", "--files", str(small))))
        dumps.append(run.cpu_seconds / (TOPICS_OF_PEERS * 101))
    spark.stop()
    print_line("typed records through Spark, a record and core", ours, dumps, budget=20, against="Kafka's dump tool")
    print_line("typed records through Spark, a record and core", ours, rows, budget=8, against="row by row in Spark")


def totals(frame: Any) -> int:
    """Read every typed field of partitions, so that nothing can be left out; give the count of records."""
    lists = ("replicas", "isr", "directories", "eligible_leader_replicas")
    sizes = [sf.sum(sf.size(f"partition.{name}")) for name in lists]
    numbers = [sf.sum(f"partition.{name}") for name in ("leader", "leader_epoch", "partition_epoch", "partition_id")]
    [row] = frame.agg(sf.count("*").alias("records"), sf.max("topic.name"), *sizes, *numbers).collect()
    return int(row["records"])


def seconds_a_record(query: Callable[[], int]) -> float:
    start = time.perf_counter()
    records = query()
    return (time.perf_counter() - start) / records


ROW_SCHEMA = (
    "partition struct<topic_id: string, partition_id: int, replicas: array<int>, isr: array<int>, leader: int,"
    " leader_epoch: int, partition_epoch: int, directories: array<string>, eligible_leader_replicas: array<int>>,"
    " topic struct<name: string, topic_id: string>"
)


def decoded_by_row(batches: Iterator[Any]) -> Iterator[Any]:
    """Decode with the row codec: an object for each record, rows of Python values, then Arrow."""
    schema = to_arrow_schema(StructType.fromDDL(ROW_SCHEMA))
    for batch in batches:
        for path in batch.column(0).to_pylist():
            rows: list[dict[str, Any]] = []
            for log_batch in read_batches(Path(path).read_bytes()):
                if not log_batch.is_control:
                    rows += [row_of(value) for value in log_batch.values()]
                if len(rows) >= 10_000:
                    yield pa.RecordBatch.from_pylist(rows, schema=schema)
                    rows = []
            yield pa.RecordBatch.from_pylist(rows, schema=schema)


def row_of(value: bytes) -> dict[str, Any]:
    record, _ = decode_metadata_record(value)
    if isinstance(record, TopicRecord):
        return {"topic": {"name": record.name, "topic_id": uuid_text(record.topic_id)}}
    if not isinstance(record, PartitionRecord):
        return {}
    partition = {
        "topic_id": uuid_text(record.topic_id),
        "partition_id": record.partition_id,
        "replicas": list(record.replicas),
        "isr": list(record.isr),
        "leader": record.leader,
        "leader_epoch": record.leader_epoch,
        "partition_epoch": record.partition_epoch,
        "directories": [uuid_text(each) for each in record.directories],
        "eligible_leader_replicas": list(record.eligible_leader_replicas or ()),
    }
    return {"partition": partition}


if __name__ == "__main__":
    measure_against_kafka("fleet_decode", measure)
