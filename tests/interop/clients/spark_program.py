"""Spark's Kafka sink and source in batch, as a program: writes rows, reads them back, prints them as JSON.

    spark_program.py SERVERS TOPIC ROWS JAR...

It reads what `TOPIC-transactions` has, too, with each isolation level.

A JVM keeps the jars that it was started with, so the connector cannot be added to the session of other tests.
"""

import json
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def main(servers: str, topic: str, rows: int, jars: list[str]) -> None:
    builder = SparkSession.builder.master("local[2]").appName("falkirk tests")
    for key, value in (SETTINGS | {"spark.jars": ",".join(jars)}).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        write(session, servers, topic, rows)
        everything = read(session, servers, topic)
        # From the third offset of partition 0 to the fifth; all of the others.
        some = read(
            session,
            servers,
            topic,
            startingOffsets=json.dumps({topic: {"0": 3, "1": -2, "2": -2}}),
            endingOffsets=json.dumps({topic: {"0": 5, "1": -1, "2": -1}}),
        )
        later = read(
            session, servers, topic, startingTimestamp="4102444800000", startingOffsetsByTimestampStrategy="latest"
        )
        reported = {"all": sorted_rows(everything), "some": sorted_rows(some), "later": sorted_rows(later)}
        for level in ("read_committed", "read_uncommitted"):
            frame = read(session, servers, f"{topic}-transactions", **{"kafka.isolation.level": level})
            reported[level] = sorted(int(row.value) for row in frame.collect())
        json.dump(reported, sys.stdout)
    finally:
        session.stop()


def write(session: SparkSession, servers: str, topic: str, rows: int) -> None:
    numbers = session.range(rows, numPartitions=2)
    frame = numbers.select(
        sf.concat(sf.lit("key-"), "id").alias("key"),
        sf.concat(sf.lit("value-"), "id").alias("value"),
        (sf.col("id") % 3).cast("int").alias("partition"),
        sf.array(
            sf.struct(sf.lit("number").alias("key"), sf.col("id").cast("string").cast("binary").alias("value"))
        ).alias("headers"),
    )
    frame.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()


def read(session: SparkSession, servers: str, topic: str, **options: str) -> DataFrame:
    reader = session.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    return reader.option("includeHeaders", "true").options(**options).load()


def sorted_rows(frame: DataFrame) -> list[list[object]]:
    """Partition, offset, key, value and headers of each row, in order."""
    rows = frame.orderBy("partition", "offset").collect()
    return [
        [
            row.partition,
            row.offset,
            bytes(row.key).decode(),
            bytes(row.value).decode(),
            [[header.key, bytes(header.value).decode()] for header in row.headers or ()],
        ]
        for row in rows
    ]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
