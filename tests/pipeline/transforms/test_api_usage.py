"""Who uses which APIs, and whom a release leaves behind: over request logs of real Kafka, and lines made up."""

import gzip
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from falkirk.pipeline.readers.chunks import Chunk
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.requests import RequestReport, read_requests
from falkirk.pipeline.tables.requests import REQUESTS
from falkirk.pipeline.transforms.api_usage import API_USAGE, USAGE_COLUMNS, api_usage, client_days, known_usage
from falkirk.pipeline.transforms.client_blockers import client_blockers, client_changes
from falkirk.versions.release import Release

LOGS = Path(__file__).parents[2] / "data" / "requests"
REAL = ("3.9.1", "4.3.1")
MADE = "made"
START = datetime(2026, 1, 1, tzinfo=UTC)


def real_rows(release):
    data = gzip.decompress((LOGS / f"log4j-{release}.log.gz").read_bytes())
    chunks = [Chunk(data=memoryview(data), position=0)]
    return list(read_requests(chunks, Origin(source="log", node_id=1), RequestReport()))


def line(connection, api_key, version, **fields):
    return {
        "node_id": 1, "connection": connection, "listener": "PLAINTEXT", "principal": "User:a", "client_id": "c",
        "is_forwarded": False, "api_key": api_key, "api": f"api {api_key}", "api_version": version, "timestamp": START,
        **fields,
    }  # fmt: skip


def made_rows():
    software = {"software_name": "librdkafka", "software_version": "2.3.0"}
    later = {"timestamp": START.replace(hour=5)}
    return [
        # One line names the software of its connection; connections of other nodes are others.
        line("a", 18, 3, **software),
        line("a", 0, 7),
        line("a", 0, 7, **later),
        line("a", 0, 8),
        line("b", 0, 8),
        line("a", 0, 8, node_id=2),
        # Nodes among clients.
        line("replica", 1, 15, client_id="broker-2-fetcher-0"),
        line("markers", 18, 3, client_id="marker"),
        line("markers", 27, 1, client_id="marker"),
        line("like-replica", 1, 15, client_id="broker-2-fetcher-x"),
        # Controllers, with an administrator among them.
        line("raft", 1, 15, client_id="raft", listener="CONTROLLER"),
        line("raft", 18, 3, client_id="raft", listener="CONTROLLER"),
        line("heartbeat", 63, 0, client_id="2", listener="CONTROLLER"),
        line("admin", 55, 0, client_id="admin", listener="CONTROLLER"),
        line("heartbeat", 19, 5, client_id="c", listener="CONTROLLER", is_forwarded=True, **software),
        # Nodes by themselves.
        line("internal", 27, 1, client_id="marker", listener="INTERNAL"),
        line("idle", 18, 3, client_id="idle", listener="INTERNAL"),
        # Next to nothing is known.
        line(None, 3, 9, client_id=None, listener=None, principal=None, timestamp=None, is_forwarded=None),
        line(None, 27, 1, client_id=None, listener=None, principal=None),
    ]


@pytest.fixture(scope="module")
def usage(spark):
    """Lines by cluster, how they are used, and what becomes of it on other releases."""
    batches = {release: real_rows(release) for release in REAL} | {MADE: [REQUESTS.rows(made_rows())]}
    tables = [
        pa.Table.from_batches(parts).append_column("cluster", pa.array([name] * sum(map(len, parts))))
        for name, parts in batches.items()
    ]
    lines = pa.concat_tables([table.replace_schema_metadata() for table in tables]).combine_chunks()
    frame = spark.createDataFrame(lines)
    used = api_usage()({REQUESTS.name: frame}).persist()
    assert tuple(used.columns) == USAGE_COLUMNS
    changes = {to: client_changes(Release.parse(to))({API_USAGE: used}).toArrow().to_pylist() for to in ("3.6", "4.0")}
    blocked = client_blockers(Release.parse("3.6"))({API_USAGE: used}).toArrow().to_pylist()
    found = SimpleNamespace(
        lines=lines.to_pylist(), used=used.toArrow().to_pylist(), changes=changes, blocked=blocked, frame=frame
    )
    used.unpersist()
    return found


def of(rows, cluster, **fields):
    return [
        row for row in rows if row["cluster"] == cluster and all(row[name] == value for name, value in fields.items())
    ]


@pytest.mark.slow
def test_every_line_is_counted_once(usage):
    keys = ("cluster", "listener", "principal", "client_id", "api_key", "api", "api_version")
    wanted = Counter((*(row[key] for key in keys), bool(row["is_forwarded"])) for row in usage.lines)
    found = Counter()
    for row in usage.used:
        found[*(row[key] for key in keys), row["is_forwarded"]] += row["requests"]
    assert found == wanted


@pytest.mark.slow
def test_clients_are_counted_by_day_and_software(spark):
    software = {"software_name": "librdkafka", "software_version": "2.3.0"}
    later = {"timestamp": START.replace(day=2, hour=23)}
    rows = [
        line("a", 18, 3, **software),
        # The day before named the software of the connection.
        line("a", 0, 7, **later),
        line("a", 0, 8, client_id="d", **later),
        line("b", 0, 8, **later),
        line("replica", 1, 15, client_id="broker-2-fetcher-0"),
        line("heartbeat", 19, 5, is_forwarded=True, **software),
        line(None, 3, 9, client_id=None, listener=None, principal=None, timestamp=None),
    ]
    lines = pa.Table.from_batches([REQUESTS.rows(rows)]).append_column("cluster", pa.array(["x"] * len(rows)))
    found = client_days()({REQUESTS.name: spark.createDataFrame(lines.replace_schema_metadata())}).collect()
    assert {(row.day and row.day.day, row.software_name, *row[4:]) for row in found} == {
        (1, "librdkafka", 1, 1, 1),
        (2, "librdkafka", 2, 2, 1),
        (2, None, 1, 1, 1),
        (None, None, 1, 0, 0),
    }


@pytest.mark.slow
def test_usage_that_was_worked_out_is_not_worked_out_again(usage):
    assert known_usage({API_USAGE: usage.frame}) is usage.frame
    assert tuple(known_usage({REQUESTS.name: usage.frame}).columns) == USAGE_COLUMNS


@pytest.mark.slow
def test_first_and_last_time_are_those_of_the_lines(usage):
    [row] = of(usage.used, MADE, api_key=0, api_version=7)
    assert (row["requests"], row["connections"]) == (2, 1)
    assert (row["first_timestamp"], row["last_timestamp"]) == (START, START.replace(hour=5))


@pytest.mark.slow
def test_a_connections_software_is_what_one_of_its_lines_says(usage):
    [named] = of(usage.used, MADE, api_key=0, api_version=7)
    assert (named["software_name"], named["software_version"], named["negotiates"]) == ("librdkafka", "2.3.0", True)
    rows = of(usage.used, MADE, api_key=0, api_version=8)
    assert {(row["software_name"], row["requests"], row["connections"], row["negotiates"]) for row in rows} == {
        ("librdkafka", 1, 1, True),
        (None, 2, 2, False),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cluster", "names"),
    [
        ("3.9.1", {"1", "AddPartitionsManager-client-1", "broker-1-txn-marker-sender"}),
        ("4.3.1", {"1", "AddPartitionsManager-client-1", "broker-1-txn-marker-sender", "Persister-client-1"}),
        (MADE, {"broker-2-fetcher-0", "marker", "raft", "2", "idle", None}),
    ],
)
def test_what_nodes_send_one_another_is_apart(usage, cluster, names):
    assert {row["client_id"] for row in of(usage.used, cluster, is_inter_broker=True)} == names
    clients = {row["client_id"] for row in of(usage.used, cluster, is_inter_broker=False)}
    assert clients & names <= {None}
    assert clients


@pytest.mark.slow
def test_what_brokers_forward_is_told_as_the_clients_on_the_controllers_listener(usage):
    for cluster in REAL:
        rows = of(usage.used, cluster, is_forwarded=True)
        assert {(row["listener"], row["serves_controllers"], row["is_inter_broker"]) for row in rows} == {
            ("CONTROLLER", True, False)
        }
        assert {row["connections"] for row in rows} == {0}
    assert {row["serves_controllers"] for row in of(usage.used, MADE, listener="PLAINTEXT")} == {False}


@pytest.mark.slow
def test_clients_that_ask_fall_back_and_the_one_that_does_not_is_blocked(usage):
    rows = of(usage.changes["4.0"], "3.9.1")
    assert {(row["client_id"], row["api"], row["api_version"], row["why"]) for row in rows} == {
        ("raw-socket", "ListOffsets", 0, "removed"),
        ("raw-socket", "CreateTopics", 0, "removed"),
    }
    assert {(row["negotiates"], row["is_blocker"]) for row in rows} == {(False, True)}
    newer = [row for row in of(usage.changes["4.0"], "4.3.1") if row["why"] == "newer"]
    assert newer
    assert all(row["negotiates"] and not row["is_blocker"] for row in newer)
    assert {(row["api"], row["api_version"], row["usable_version"]) for row in newer if row["api"] == "Fetch"} == {
        ("Fetch", 18, 17)
    }


@pytest.mark.slow
def test_groups_of_newer_protocols_end_on_a_release_without_their_apis(usage):
    lost = {row["api"] for row in of(usage.blocked, "4.3.1", why="no such API")}
    assert {"ConsumerGroupHeartbeat", "ShareFetch", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"} <= lost
    changed = {row["api"] for row in of(usage.changes["3.6"], "4.3.1", why="no such API")}
    assert changed - lost == {"DescribeTopicPartitions"}
    assert all(row["is_blocker"] for row in usage.blocked)


@pytest.mark.slow
def test_nodes_and_forwarded_requests_are_no_clients(usage):
    apis = {row["api_key"] for row in usage.changes["3.6"]}
    assert apis.isdisjoint({27, 63, 83, 84, 85})
    assert of(usage.changes["3.6"], MADE, listener="CONTROLLER") == []
