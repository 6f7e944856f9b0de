"""`ingest`, `stream` and `vacuum` are killed at random places: whoever reads the warehouse finds it whole.

FALKIRK_FLEET_KILLS is the number of kills (by default 3 with Spark, and 24 without), FALKIRK_FLEET_SEED (1) chooses
the places.
"""

import json
import os
import random
from contextlib import nullcontext

import duckdb
import pytest
from data_files import all_files, live_files
from deltalake import DeltaTable
from killed_programs import killed_without_spark, run_killed
from made_clusters import MadeCluster

from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.protocol.messages import TopicRecord

KILLS = os.environ.get("FALKIRK_FLEET_KILLS")
SEED = int(os.environ.get("FALKIRK_FLEET_SEED", "1"))
INGEST = ("fleet", "ingest", "fleet.yaml")
STREAM = ("fleet", "stream", "fleet.yaml", "--rounds", 2, "--interval", 0)
VACUUM = ("fleet", "vacuum", "--retain-hours", 0)
LAST_DELAY = 0.05


def read_whole(folder):
    """Return the rows of each table by cluster: every value of every file of the last commit is read."""
    warehouse = Warehouse.open(str(folder))
    found = {}
    for table, version in warehouse.mark().versions.items():
        log = DeltaTable(warehouse.table_uri(table), version=version)
        read = duckdb.from_arrow(log.to_pyarrow_dataset())
        # The time of an ingest is different each time.
        rows = read.select(*(name for name in read.columns if name != "ingested_at")).fetchall()
        in_log = sum(log.get_add_actions(flatten=True).column("num_records").to_pylist())
        assert len(rows) == in_log, table
        found[table] = sorted(rows, key=repr)
    return found


def topics(found):
    position = [*TABLES["topics"].schema.names, "cluster"].index("name")
    return sorted(row[position] for row in found.get("topics", []))


@pytest.mark.slow
@pytest.mark.parametrize("with_spark", [False, pytest.param(True, marks=pytest.mark.spark)])
def test_a_writer_that_is_killed_anywhere_leaves_a_warehouse_that_is_read_whole(tmp_path, with_spark):
    kills = int(KILLS or (3 if with_spark else 24))
    with nullcontext(run_killed) if with_spark else killed_without_spark(tmp_path) as run:
        check(tmp_path, run, kills)


def check(tmp_path, run, kills):
    chance = random.Random(SEED)
    folder = tmp_path / "fleet-warehouse"
    made = [MadeCluster(root=tmp_path / "fleet" / name).make() for name in ("one", "two")]
    entries = [{"name": cluster.root.name, "log_dirs": [f"{cluster.root}/*"]} for cluster in made]
    (tmp_path / "fleet.yaml").write_text(json.dumps({"clusters": entries}))  # JSON is YAML
    written = []

    def grow():
        written.append(f"topic-{len(written):04}")
        topic = TopicRecord(written[-1], len(written).to_bytes(16, "big"))
        for cluster in made:
            cluster.append((topic, 0))

    grow()
    events = {}
    for words in (INGEST, STREAM, VACUUM):
        grow()
        _, events[words] = run(tmp_path, folder, words)
    before, killed = read_whole(folder), 0
    assert topics(before) == sorted(2 * written[:-1])
    for number in range(kills):
        words = (INGEST, STREAM, VACUUM)[number % 3]
        grow()
        place = {"event": chance.randint(1, events[words]), "delay": chance.uniform(0, LAST_DELAY)}
        status, _ = run(tmp_path, folder, words, **place)
        killed += status < 0
        found = read_whole(folder)
        # Both clusters change at one moment, and nothing that was there goes.
        assert topics(found) in [sorted(2 * written[:end]) for end in range(len(written) + 1)], (words, place)
        assert len(topics(found)) >= len(topics(before)), (words, place)
        before = found
    assert killed >= kills // 2, "too many came to their end"
    for words in (INGEST, VACUUM):
        run(tmp_path, folder, words)
    last = read_whole(folder)
    assert topics(last) == sorted(2 * written)
    run(tmp_path, tmp_path / "none", (*INGEST, "--warehouse", "at-once"))
    at_once = read_whole(tmp_path / "at-once")
    # A row for each day of an ingest: those before midnight are in one of them alone.
    assert last.pop("trends")
    assert at_once.pop("trends")
    assert last == at_once
    warehouse = Warehouse.open(str(folder))
    assert all_files(warehouse) == live_files(warehouse)
