"""The fleet commands on a server of Spark Connect, which has neither a context nor RDDs for them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fleet_clusters import unpack_cluster
from spark_connect import connect_server

from falkirk.pipeline.made_fleet import FleetShape, make_fleet

FALKIRK = Path(sys.executable).with_name("falkirk")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.full
def test_a_server_makes_the_tables_and_answers_that_one_process_makes(tmp_path):
    unpack_cluster("4.3.1", tmp_path / "fleet" / "real")
    make_fleet(tmp_path / "fleet" / "made", FleetShape(clusters=3, partitions=40))

    def falkirk(*words, status=0):
        command = [FALKIRK, "fleet", *words, "--warehouse", "warehouse", "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (status, "")
        return json.loads(done.stdout)

    with connect_server(tmp_path) as url:
        first = falkirk("ingest", "fleet", "--master", url)
        report = falkirk("report", "--to", "3.9", "--master", url, "--out", "remote", status=3)
    assert len(first["changed"]) == 4
    # Whether a second run in one process finds anything to add tells whether the first one made all of it.
    second = falkirk("ingest", "fleet")
    assert (second["changed"], second["rows"]) == ([], first["rows"])
    again = falkirk("report", "--to", "3.9", "--out", "own", status=3)
    assert report["rows_in_all"]["losses"] > 0
    del report["made_at"], again["made_at"]
    assert report == again


@pytest.mark.spark
def test_a_server_that_does_not_answer_is_named(tmp_path):
    unpack_cluster("4.3.1", tmp_path / "c")
    command = [FALKIRK, "fleet", "ingest", "c", "--master", "sc://127.0.0.1:9"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("sc://127.0.0.1:9: no Spark Connect server answers: ")
    assert done.stderr.count("\n") == 1
