"""The fleet commands as a shell sees them: what they print, what they refuse, how they end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from archives import unpack_cluster
from data_files import all_files, committed, live_files
from made_clusters import MadeCluster
from object_store import object_store

from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.manifest import FORMAT
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.protocol.messages import TopicRecord

FALKIRK = Path(sys.executable).with_name("falkirk")


def run_program(*words, code="", **environment):
    """Run the program itself, or Python code around it."""
    start = f"import sys\n{code}\nfrom falkirk.cli import main\nmain({[str(word) for word in words]!r})"
    return subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, check=False, env=os.environ | environment
    )


def test_the_tables_are_listed_with_their_columns(falkirk):
    answer = falkirk("fleet", "tables")
    assert answer.exit_code == 0
    assert "feature_levels: Every change of a finalized feature level" in answer.stdout
    assert json.loads(falkirk("fleet", "tables", "--json").stdout).keys() == TABLES.keys()


def test_a_fleet_is_made_up_the_same_each_time(falkirk, tmp_path):
    for name in ("a", "b"):
        answer = falkirk("fleet", "generate", name, "--clusters", 2, "--partitions", 30, "--json")
        assert json.loads(answer.stdout) == {"out": name, "clusters": 2, "partitions": 30}
    files = [sorted(path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*")) for name in ("a", "b")]
    assert files[0] == files[1]
    for path in files[0]:
        if (tmp_path / "a" / path).is_file() and path.name != "meta.properties":  # has the time of day
            assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()
    refused = falkirk("fleet", "generate", "a")
    assert (refused.exit_code, refused.stderr) == (2, "a: exists; name a new directory\n")


def test_clusters_are_forgotten_by_name(falkirk, tmp_path):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    for name in ("a", "b", "c"):
        committed(warehouse, name, "one")
    answer = falkirk("fleet", "forget", "a", "c", "--warehouse", "w")
    assert (answer.exit_code, answer.stdout) == (0, "a: 1 row forgotten\nc: 1 row forgotten\n")
    assert live_files(warehouse) == warehouse.manifest("b").files().keys()
    answer = falkirk("fleet", "forget", "b", "--warehouse", "w", "--json")
    assert json.loads(answer.stdout) == {"forgotten": {"b": {"topics": 1}}}
    assert (warehouse.manifests(), live_files(warehouse)) == ([], set())


def test_the_commits_of_a_warehouse_are_listed_and_vacuumed(falkirk, tmp_path):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    for key in ("one", "two"):
        committed(warehouse, "a", key)
    commits = json.loads(falkirk("fleet", "history", "--warehouse", "w", "--json").stdout)["commits"]
    assert [(each["number"], each["changed"], each["versions"]) for each in commits] == [
        (1, ["a"], {"topics": 0}),
        (2, ["a"], {"topics": 1}),
    ]
    lines = falkirk("fleet", "history", "--warehouse", "w").stdout.splitlines()
    assert [line.split() for line in lines] == [[str(each["number"]), each["at"], "a"] for each in commits]
    answer = falkirk("fleet", "vacuum", "--warehouse", "w")
    assert (answer.exit_code, answer.stdout) == (0, "0 files removed\n")
    answer = falkirk("fleet", "vacuum", "--warehouse", "w", "--retain-hours", 0, "--dry-run", "--json")
    assert json.loads(answer.stdout) == {"dry_run": True, "removed": {"topics": 1}}
    answer = falkirk("fleet", "vacuum", "--warehouse", "w", "--retain-hours", 0)
    assert answer.stdout == f"1 file removed\n  {'topics':<20} {1:>12}\n"
    assert all_files(warehouse) == live_files(warehouse)
    assert [mark.number for mark in warehouse.marks()] == [2]


REFUSALS = [
    (("fleet", "diff", "c", "empty"), 1, "c: no report: "),
    (("fleet", "ingest", "gone"), 1, "gone: no such file or directory"),
    (("fleet", "ingest", "x*"), 1, "x*: matches nothing"),
    (("fleet", "ingest", "empty"), 1, "empty: no Kafka log directory here, nor in a folder of it"),
    (("fleet", "ingest", "text.txt"), 1, "text.txt: no Kafka log directory here"),
    (("fleet", "ingest", "typo.yaml"), 1, "typo.yaml: Object contains unknown field `nod` - at `$.clusters[0]`"),
    (("fleet", "ingest", "twice.yaml"), 1, "twice.yaml: two clusters are called a"),
    (("fleet", "ingest", "c", "--tables", "topics,nope"), 2, "--tables: no table is called nope"),
    (("fleet", "ingest", "c", "--tables", ""), 2, "--tables: no table is called ''"),
    (("fleet", "ingest", "c", "--spark-conf", "x"), 2, "--spark-conf: 'x' is not KEY=VALUE"),
    (("fleet", "ingest", "c", "--clusters", "or*"), 1, "--clusters: no cluster of the inputs is called or*"),
    (("fleet", "stream", "c", "--clusters", ","), 2, "--clusters: names no cluster"),
    (("fleet", "report", "--to", "3.9", "--warehouse", "empty-one", "--clusters", ","), 2, "--clusters: names no"),
    (
        ("fleet", "report", "--to", "3.9", "--warehouse", "empty-one", "--status-of", "stage=production"),
        2,
        "--status-of: 'stage=production' is not TAG=VALUE; tags are owner, team, region, environment",
    ),
    (("fleet", "ingest", "c", "--request-log", "none"), 1, "none: no such file or directory"),
    (("fleet", "report", "--to", "3.9"), 1, "fleet-warehouse: no warehouse here; `falkirk fleet ingest` makes one"),
    (("fleet", "report", "--to", "3.2"), 1, "3.2: "),
    (("fleet", "report", "--to", "3.9", "--release", "3.8"), 1, "Kafka 3.8.1 does not run 3.9-IV0"),
    (("fleet", "report", "--to", "3.9", "--warehouse", "newer"), 1, "written by falkirk 9 in format"),
    (("fleet", "forget", "a"), 1, "fleet-warehouse: no warehouse here; `falkirk fleet ingest` makes one"),
    (("fleet", "forget", "a", "b", "--warehouse", "empty-one"), 1, "no cluster is called a, b"),
    (("fleet", "forget", "../a", "--warehouse", "empty-one"), 1, "'../a' is no name for a cluster"),
    (("fleet", "vacuum"), 1, "fleet-warehouse: no warehouse here"),
    (("fleet", "history"), 1, "fleet-warehouse: no warehouse here"),
    (("fleet", "migrate"), 1, "fleet-warehouse: no warehouse here"),
    (("fleet", "migrate", "--warehouse", "empty-one"), 1, "empty-one: is current; there is nothing to migrate"),
    (("fleet", "report", "--to", "3.9", "--warehouse", "old"), 1, "`falkirk fleet migrate` makes it current"),
    (("fleet", "stream", "gone"), 1, "gone: no such file or directory"),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: "-".join(map(str, refusal[0])))
def test_what_cannot_be_done_is_refused_in_one_sentence(falkirk, tmp_path, monkeypatch, refusal):
    words, code, message = refusal
    MadeCluster(root=tmp_path / "c").make()
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("no log")
    (tmp_path / "typo.yaml").write_text("clusters: [{name: a, nod: []}]")
    (tmp_path / "twice.yaml").write_text("clusters: [{name: a, log_dirs: [c]}, {name: a, log_dirs: [c]}]")
    Warehouse.make(str(tmp_path / "empty-one"))
    for name, format_ in (("newer", FORMAT + 1), ("old", 1)):
        Warehouse.make(str(tmp_path / name))
        about = tmp_path / name / "_falkirk" / "warehouse.json"
        about.write_text(json.dumps({"format": format_, "written_by": "falkirk 9"}))
    monkeypatch.setattr("falkirk.pipeline.spark.session.start_session", lambda **_: pytest.fail("Spark was started"))
    answer = falkirk(*words)
    assert (answer.exit_code, answer.stdout) == (code, "")
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not list(tmp_path.rglob("*.parquet"))


def fake_java(folder, version):
    folder.mkdir()
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return str(folder)


@pytest.mark.slow
def test_without_java_one_sentence_says_so(tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    words = ("fleet", "ingest", made.root, "--warehouse", tmp_path / "w")
    missing = run_program(*words, PATH=str(tmp_path), JAVA_HOME="")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == "Spark needs Java 17 or newer: no java on the path, and no JAVA_HOME\n"
    old = run_program(*words, PATH=fake_java(tmp_path / "old", "11.0.2"), JAVA_HOME="")
    assert old.stderr == f"Spark needs Java 17 or newer: {tmp_path}/old/java is Java 11\n"
    ancient = run_program(*words, PATH=fake_java(tmp_path / "ancient", "1.8.0_292"), JAVA_HOME="")
    assert ancient.stderr.endswith("java is Java 8\n")
    assert not (tmp_path / "w").exists()


@pytest.mark.slow
@pytest.mark.parametrize("module", ["pyspark", "pyarrow", "fsspec", "deltalake"])
def test_without_the_extra_one_sentence_says_which(tmp_path, module):
    made = MadeCluster(root=tmp_path / "c").make()
    words = ("fleet", "ingest", made.root, "--warehouse", tmp_path / "w")
    done = run_program(*words, code=f"sys.modules[{module!r}] = None")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"{module} is not installed: the fleet commands need the extra `spark` (pip install 'falkirk[spark]')\n"
    )
    assert not (tmp_path / "w").exists()


def addresses(page):
    """Return whatever a browser would look for elsewhere."""
    found = re.findall(r"(?:https?:)?//[^\s\"'<]+|@import[^;]*|url\((?!#)[^)]*\)", page)

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag in {"link", "img", "iframe", "object", "embed", "base"}:
                found.append(tag)
            found.extend(value for name, value in attrs if name.endswith(("href", "src")) and ":" in value)

    Reader().feed(page)
    return found


@pytest.mark.slow
def test_an_ingest_and_a_report_say_what_they_did(spark, falkirk, tmp_path):
    # At 4.3, and one partition has eligible leader replicas.
    falkirk("fleet", "generate", "fleet", "--clusters", 1, "--seed", 11)
    answer = falkirk("fleet", "ingest", "fleet")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.stdout.startswith("1 cluster, 1 of them changed\n")
    again = json.loads(falkirk("fleet", "ingest", "fleet", "--json").stdout)
    assert (again["changed"], again["new_rows"], again["rows"]["topics"]) == ([], {}, 5)
    report = falkirk("fleet", "report", "--to", "3.9")
    assert report.exit_code == 3
    assert ": would lose: Partitions that lose their spare leaders (ELR) (1)" in report.stdout
    assert sorted(path.name for path in (tmp_path / "fleet-report").iterdir()) == [
        "clusters",
        "csv",
        "report.html",
        "report.json",
        "runbook.html",
        "tables",
    ]
    page = (tmp_path / "fleet-report" / "report.html").read_text()
    assert page.count("<svg") == 2
    assert addresses(page) == []
    blocked = falkirk("fleet", "report", "--to", "4.4", "--json")
    assert (blocked.exit_code, json.loads(blocked.stdout)["clusters"]) == (1, {"clear": 0, "lossy": 0, "blocked": 1})
    # A report of another target replaced the first one, so nothing is said of what is new.
    assert json.loads(blocked.stdout)["since"] is None
    falkirk("fleet", "report", "--to", "4.4", "--out", "again")
    same = falkirk("fleet", "diff", "fleet-report", "again", "--json")
    assert (same.exit_code, json.loads(same.stdout)["differences"]) == (0, [])
    elsewhere = falkirk("fleet", "report", "--to", "3.9", "--out", "x", "--clusters", "or*")
    assert (elsewhere.exit_code, elsewhere.stdout, (tmp_path / "x").exists()) == (1, "", False)
    assert re.fullmatch(r"--clusters: no cluster of \S+ is called or\*\n", elsewhere.stderr)
    mine = falkirk("fleet", "report", "--to", "3.9", "--out", "fleet")
    assert (mine.exit_code, mine.stderr) == (1, "fleet: not empty, and no report; name a new or empty directory\n")


@pytest.mark.slow
def test_tables_are_exported_to_formats_that_spark_writes(spark, falkirk, tmp_path):
    falkirk("fleet", "generate", "fleet", "--clusters", 2)
    ingested = json.loads(falkirk("fleet", "ingest", "fleet", "--json").stdout)
    words = ("fleet", "export", "--format", "orc", "--out", tmp_path / "orc", "--tables", "topics,partitions", "--json")
    for _ in range(2):
        answer = falkirk(*words)
        assert json.loads(answer.stdout)["rows"] == {name: ingested["rows"][name] for name in ("topics", "partitions")}
    assert spark.read.orc(str(tmp_path / "orc" / "partitions")).count() == ingested["rows"]["partitions"]
    of_one = falkirk(*words, "--out", tmp_path / "one", "--clusters", ingested["changed"][0])
    assert json.loads(of_one.stdout)["rows"] == {"topics": 5, "partitions": 100}
    assert [path.name for path in (tmp_path / "one" / "topics").glob("c*")] == [f"cluster={ingested['changed'][0]}"]
    refused = falkirk("fleet", "export", "--format", "delta", "--out", tmp_path / "delta")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith("format delta: this Spark (4.")
    assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "delta").exists()


@pytest.mark.full
@pytest.mark.spark
def test_a_fleet_in_an_object_store_gives_the_rows_of_one_on_disk(spark, falkirk, tmp_path):
    data = unpack_cluster("4.0.0", tmp_path / "fleet")
    with object_store() as store:
        root = store.put_tree("backups/c1", data)
        words = ("fleet", "ingest", f"{root}/*", "--warehouse", tmp_path / "from-store", "--json")
        done = run_program(*words, **store.environment)
    assert done.returncode == 0, done.stderr
    assert "log level" not in done.stderr
    local = json.loads(falkirk("fleet", "ingest", "fleet", "--json").stdout)
    assert json.loads(done.stdout)["rows"] == local["rows"]
    told = sorted_rows(spark, tmp_path / "from-store", "topics")
    assert told.replace(root, str(data)) == sorted_rows(spark, tmp_path / "fleet-warehouse", "topics")


@pytest.mark.slow
def test_a_stream_that_is_killed_goes_on_where_it_was(spark, falkirk, tmp_path):
    made = MadeCluster(root=tmp_path / "fleet").make()
    words = ["fleet", "stream", "fleet", "--interval", "0.1", "--json"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    names = []

    def grow(count):
        for _ in range(count):
            names.append(f"topic-{len(names)}")
            made.append((TopicRecord(names[-1], bytes([len(names)]) * 16), 0))
            time.sleep(0.05)

    # Killed in the middle of whatever it does, and then ended as an operator ends it.
    for ending in (signal.SIGKILL, signal.SIGTERM):
        with subprocess.Popen(
            [FALKIRK, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        ) as process:
            assert json.loads(process.stdout.readline())["changed"]
            grow(12)
            process.send_signal(ending)
            rounds = [json.loads(line) for line in process.stdout if line.endswith(b"\n")]
        assert process.returncode == (-signal.SIGKILL if ending == signal.SIGKILL else 0)
        assert all(each["changed"] for each in rounds)
    last = falkirk("fleet", "stream", "fleet", "--rounds", 1, "--interval", 0)
    assert last.exit_code == 0
    falkirk("fleet", "ingest", "fleet", "--warehouse", "at-once")
    # A trend has a row for each day of an ingest: those before midnight are in one of them alone.
    for table in TABLES.keys() - {"trends"}:
        assert sorted_rows(spark, tmp_path / "fleet-warehouse", table) == sorted_rows(
            spark, tmp_path / "at-once", table
        )
    assert set(names) <= {row["name"] for row in json.loads(sorted_rows(spark, tmp_path / "at-once", "topics"))}


def sorted_rows(spark, warehouse, table):
    from falkirk.pipeline.warehouse.fleet_tables import FleetTables

    rows = FleetTables(spark, Warehouse.open(str(warehouse)))[table].drop("ingested_at").toArrow().to_pylist()
    return json.dumps(sorted(rows, key=repr), default=str)
