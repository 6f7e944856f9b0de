"""A snapshot of a million partitions to all state tables and the loss verdict, against `falkirk logdir plan`.

Budget: at most 1.5 times the plan's process and Spark's start, so a ratio of 0.67 or more without that start: the clock
starts after a cluster of a hundred partitions has been processed, whose queries load Spark's classes. The line's wall
ratio is of processes that do nothing before, from their start, where `falkirk fleet prepare` was run once.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

from falkirk.logdir.target import parse_target
from falkirk.pipeline.ingest.run import ingest
from falkirk.pipeline.inventory import find_fleet
from falkirk.pipeline.made_fleet import FleetShape, make_fleet
from falkirk.pipeline.spark.job_progress import NoProgress
from falkirk.pipeline.spark.session import start_session
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.transforms.cluster_question import ask_clusters
from falkirk.pipeline.transforms.downgrade_losses import downgrade_losses
from falkirk.pipeline.transforms.downgrade_verdicts import downgrade_verdicts, loss_counts
from falkirk.pipeline.transforms.stopped_cluster import stopped_clusters
from falkirk.pipeline.warehouse.fleet_tables import FleetTables
from falkirk.pipeline.warehouse.warehouse import Warehouse
from support.kafka_peer import Peer, measure_against_kafka, snapshot
from support.line import print_line
from support.process import run_process
from support.stopped_directory import stopped_directory

TURNS = 3
TARGET = "3.9"
FALKIRK = Path(sys.executable).with_name("falkirk")
STATE = frozenset(TABLES) - {"metadata_records"}


def measure(kafka: Peer) -> None:
    path = snapshot(kafka)
    with tempfile.TemporaryDirectory() as folder:
        directory = stopped_directory(Path(folder) / "cluster", path)
        plan = ["sh", "-c", '"$@"; test $? -eq 3', "sh", str(FALKIRK), "logdir", "plan", str(directory)]
        os.environ["XDG_CACHE_HOME"] = folder
        run_process([str(FALKIRK), "fleet", "prepare"])
        ours, plans, wall = [], [], []
        for _ in range(TURNS):
            plans.append(run_process([*plan, "--to", TARGET, "--json"]))
            wanted = len(json.loads(plans[-1].stdout)["losses"])
            for way in ("warm", "cold"):
                run = run_process([sys.executable, __file__, way, str(directory), folder])
                told = json.loads(run.stdout)
                assert told["losses"] == wanted > 0
                if way == "warm":
                    ours.append(told["seconds"])
                else:
                    wall.append(run.seconds)
    print_line(
        "1M partitions to state tables and verdict, without Spark's start",
        ours,
        [run.seconds for run in plans],
        budget=0.67,
        against="falkirk logdir plan",
        wall=(wall, [run.seconds for run in plans]),
    )


def verdict(way: str, directory: str, folder: str) -> None:
    spark = start_session(master="local[2]", few_rows=True)
    place = Path(folder) / "warehouse"
    if way == "warm":
        small = Path(folder) / "small"
        shutil.rmtree(small, ignore_errors=True)
        make_fleet(small, FleetShape(clusters=1))
        losses_of(spark, str(small), place)
    started = time.perf_counter()
    losses = losses_of(spark, directory, place)
    print(json.dumps({"seconds": time.perf_counter() - started, "losses": losses}))


def losses_of(spark: SparkSession, directory: str, place: Path) -> int:
    shutil.rmtree(place, ignore_errors=True)
    warehouse = Warehouse.make(str(place))
    ingest(spark, warehouse, find_fleet([directory]), tables=STATE)
    target = parse_target(TARGET)
    losses = loss_counts(downgrade_losses(target.metadata_version, target.release))
    stopped = stopped_clusters(target.metadata_version, target.release)
    found = ask_clusters(FleetTables(spark, warehouse), {"losses": losses, "stopped": stopped}, NoProgress())
    [row] = downgrade_verdicts(found["stopped"], found["losses"]).to_pylist(maps_as_pydicts="strict")
    return sum(row["losses"].values())


if __name__ == "__main__":
    if sys.argv[1:2] in (["warm"], ["cold"]):
        verdict(*sys.argv[1:])
    else:
        measure_against_kafka("fleet_verdict", measure)
