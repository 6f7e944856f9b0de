"""Fleets of 10, 100 and 1,000 clusters of 1,000 topics and 50 coordinator partitions: ingest and report.

Budget: a cluster of a larger fleet takes less time than one of a smaller fleet (a ratio above 1), and a report of 1,000
takes 30 s. Spark's start is left out; each fleet has a warehouse of its own. The report of the largest fleet is made
once more by a process, from its start, where `falkirk fleet prepare` was run once. Sizes on the command line, such as
`100 1000 10000`, take the place of these three.
"""

import itertools
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from falkirk.logdir.target import parse_target
from falkirk.pipeline.ingest.run import ingest
from falkirk.pipeline.inventory import find_fleet
from falkirk.pipeline.made_fleet import FleetShape, make_fleet
from falkirk.pipeline.reports.fleet_report import make_report
from falkirk.pipeline.spark.session import start_session
from falkirk.pipeline.warehouse.warehouse import Warehouse
from support.line import print_line
from support.process import run_process

SIZES = tuple(int(word) for word in sys.argv[1:] if word.isdigit()) or (10, 100, 1000)
TOPICS = 1000
REPORT_SECONDS = 30
# Of fewer most of the time is Spark's.
BUDGETED = 1000
TARGET = parse_target("3.9")
FALKIRK = Path(sys.executable).with_name("falkirk")


def main() -> None:
    spark = start_session(master="local[2]", settings={"spark.driver.memory": "2g"}, few_rows=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def seconds(clusters: int, seed: int) -> tuple[float, float]:
            fleet, place, out = folder / "fleet", folder / "warehouse", folder / "report"
            make_fleet(fleet, FleetShape(clusters=clusters, partitions=TOPICS, partitions_per_topic=1, seed=seed))
            started = time.perf_counter()
            warehouse = Warehouse.make(str(place))
            ingest(spark, warehouse, find_fleet([str(fleet)]))
            ingested = time.perf_counter()
            make_report(spark, warehouse, out, TARGET.metadata_version, TARGET.release)
            done = time.perf_counter()
            for each in (fleet, out):
                shutil.rmtree(each)
            if clusters != SIZES[-1]:
                shutil.rmtree(place)
            return ingested - started, done - ingested

        seconds(SIZES[0], seed=0)
        taken = {clusters: seconds(clusters, seed=1) for clusters in SIZES}
        spark.stop()
        os.environ["XDG_CACHE_HOME"] = name
        run_process([str(FALKIRK), "fleet", "prepare"])
        command = ["fleet", "report", "--to", str(TARGET.metadata_version), "--warehouse", str(folder / "warehouse")]
        # Its exit status tells what would be lost, not whether it is there.
        report = ["sh", "-c", '"$@"; test -f "$0/report.json"', str(folder / "report"), str(FALKIRK), *command]
        alone = run_process([*report, "--out", str(folder / "report")]).seconds
    limit = [REPORT_SECONDS * SIZES[-1] / 1000]
    what = f"report of {SIZES[-1]:,} clusters, from the start of its process"
    print_line(what, [alone], limit, budget=1, against="30 s for 1,000")
    for clusters, (_, report) in taken.items():
        if clusters < BUDGETED:
            continue
        limit = [REPORT_SECONDS * clusters / 1000]
        print_line(f"report of {clusters:,} clusters", [report], limit, budget=1, against="30 s for 1,000")
    for smaller, larger in itertools.pairwise(SIZES):
        for what, index in (("ingest", 0), ("report", 1)):
            ours, theirs = taken[larger][index] / larger, taken[smaller][index] / smaller
            print_line(
                f"{what}, a cluster of {larger:,}", [ours], [theirs], budget=1, against=f"a cluster of {smaller:,}"
            )


if __name__ == "__main__":
    main()
