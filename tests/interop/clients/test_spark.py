"""Spark's Kafka sink and source in batch, against a cluster of ours and one of Kafka's."""

import json
import os
import subprocess
import sys
from pathlib import Path

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


def test_spark_writes_rows_and_reads_them_back(
    served: ClientCluster, client_factory: ClientFactory, tmp_path: Path
) -> None:
    client_factory.get("librdkafka", served.access("PLAINTEXT")).create_topic(TOPIC, partitions=3)
    served.await_topic(TOPIC, partitions=3)
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
