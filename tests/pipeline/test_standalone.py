"""The fleet commands on a Spark cluster: a master and two workers, each a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from archives import unpack_cluster
from spark_standalone import standalone_cluster

from falkirk.pipeline.made_fleet import FleetShape, make_fleet

FALKIRK = Path(sys.executable).with_name("falkirk")
# Two executors of one core each; with small heaps, for the tests share the machine.
SETTINGS = ("spark.executor.memory=512m", "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1")


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize("with_report", [False, True])
def test_workers_of_a_cluster_make_the_tables_that_one_process_makes(tmp_path, with_report):
    unpack_cluster("4.3.1", tmp_path / "fleet" / "real")
    make_fleet(tmp_path / "fleet" / "made", FleetShape(clusters=6, partitions=40))

    def falkirk(*words):
        command = [FALKIRK, *words, "--warehouse", "warehouse", "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode in {0, 3}, done.stderr
        return json.loads(done.stdout)

    with standalone_cluster(tmp_path, workers=2) as master:
        settings = [word for setting in SETTINGS for word in ("--spark-conf", setting)]
        first = falkirk("fleet", "ingest", "fleet", "--master", master, *settings)
        if with_report:
            report = falkirk("fleet", "report", "--to", "3.9", "--master", master, *settings)
            assert {verdict["cluster"] for verdict in report["verdicts"]} == set(first["changed"])
    ran = [path for path in tmp_path.glob("work-*/app-*/*/stderr") if path.stat().st_size]
    assert {path.relative_to(tmp_path).parts[0] for path in ran} == {"work-0", "work-1"}
    assert len(first["changed"]) == 7
    # Whether a second run in one process finds anything to add tells whether the first one made all of it.
    second = falkirk("fleet", "ingest", "fleet")
    assert (second["changed"], second["rows"]) == ([], first["rows"])
