"""Spark's Kafka sink and source in batch, against a cluster of ours and one of Kafka's; transactions are read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import confluent_kafka as ck
import pyspark
import pytest
from client_cluster import ClientCluster
from client_factory import ClientFactory

from fetch_spark_kafka import connector_jars

pytestmark = [
    pytest.mark.interop,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.parametrize(
        "served",
        [
            pytest.param(("falkirk", "4.3.1"), id="falkirk-4.3.1"),
            pytest.param(("kafka", "4.3.1"), id="kafka-4.3.1", marks=pytest.mark.full),
        ],
        indirect=True,
    ),
]
PROGRAM = Path(__file__).with_name("spark_program.py")
ROWS = 500
TOPIC = "spark"
TIMEOUT_S = 300
TRANSACTIONAL = 60


def test_spark_writes_rows_and_reads_them_back(
    served: ClientCluster, client_factory: ClientFactory, tmp_path: Path
) -> None:
    client_factory.get("librdkafka", served.access("PLAINTEXT")).create_topic(TOPIC, partitions=3)
    served.await_topic(TOPIC, partitions=3)
    client_factory.get("librdkafka", served.access("PLAINTEXT")).create_topic(f"{TOPIC}-transactions", partitions=3)
    write_transactions(served.bootstrap_servers)
    jars = connector_jars(Path(pyspark.__file__).parent / "jars")
    command = [sys.executable, str(PROGRAM), served.bootstrap_servers, TOPIC, str(ROWS), *map(str, jars)]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-5000:]
    reported = json.loads(done.stdout.splitlines()[-1])
    everything = reported["all"]
    assert sorted(row[3] for row in everything) == sorted(f"value-{number}" for number in range(ROWS))
    for partition, _, key, value, headers in everything:
        number = value.removeprefix("value-")
        assert (key, partition, headers) == (f"key-{number}", int(number) % 3, [["number", number]])
    offsets = [row[1] for row in everything if row[0] == 0]
    assert offsets == list(range(len(offsets)))
    assert reported["some"] == [row for row in everything if row[0] > 0 or 3 <= row[1] < 5]
    assert reported["later"] == []
    assert reported["read_committed"] == [number for number in range(TRANSACTIONAL) if is_committed(number)]
    assert reported["read_uncommitted"] == list(range(TRANSACTIONAL))


def write_transactions(servers: str) -> None:
    """Write numbers in transactions of ten, every other of which is aborted."""
    producer = ck.Producer({"bootstrap.servers": servers, "transactional.id": "for-spark"})
    producer.init_transactions(60)
    for first in range(0, TRANSACTIONAL, 10):
        producer.begin_transaction()
        for number in range(first, first + 10):
            producer.produce(f"{TOPIC}-transactions", str(number).encode(), partition=number % 3)
        if is_committed(first):
            producer.commit_transaction(60)
        else:
            # Otherwise librdkafka forgets what it has not sent.
            producer.flush(60)
            producer.abort_transaction(60)


def is_committed(number: int) -> bool:
    return number // 10 % 2 == 0
