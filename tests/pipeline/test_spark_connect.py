"""The fleet commands on a server of Spark Connect, which has neither a context nor RDDs for them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from archives import unpack_cluster
from spark_connect import connect_server

from falkirk.pipeline.made_fleet import FleetShape, make_fleet

FALKIRK = Path(sys.executable).with_name("falkirk")


@pytest.mark.slow
def test_a_server_makes_the_tables_and_answers_that_one_process_makes(spark, falkirk, tmp_path):
    unpack_cluster("4.3.1", tmp_path / "fleet" / "real")
    make_fleet(tmp_path / "fleet" / "made", FleetShape(clusters=3, partitions=40))

    def remote(url, *words):
        command = [FALKIRK, "fleet", *words, "--master", url, "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    with connect_server(tmp_path) as url:
        status, first = remote(url, "ingest", "fleet")
        reported = remote(url, "report", "--to", "3.9", "--out", "remote")
    assert (status, len(first["changed"])) == (0, 4)
    # Whether a second run in one process finds anything to add tells whether the first one made all of it.
    second = json.loads(falkirk("fleet", "ingest", "fleet", "--json").stdout)
    assert (second["changed"], second["rows"]) == ([], first["rows"])
    answer = falkirk("fleet", "report", "--to", "3.9", "--out", "own", "--json")
    own = json.loads(answer.stdout)
    assert own["rows_in_all"]["losses"] > 0
    assert reported == (answer.exit_code, own | {"made_at": reported[1]["made_at"]})


@pytest.mark.spark
def test_a_server_that_does_not_answer_is_named(tmp_path):
    unpack_cluster("4.3.1", tmp_path / "c")
    command = [FALKIRK, "fleet", "ingest", "c", "--master", "sc://127.0.0.1:9"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("sc://127.0.0.1:9: no Spark Connect server answers: ")
    assert done.stderr.count("\n") == 1
