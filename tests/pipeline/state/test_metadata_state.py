"""The state of real clusters, against what `logdir` reads of them, and against what Kafka's Admin client answered."""

import re
from dataclasses import replace
from functools import partial

import pytest
from admin_answers import (
    COMPARED,
    CONFIG_TYPES,
    MECHANISMS,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    expected,
    partition_of_text,
)
from fleet_clusters import CLUSTER_NAMES, fleet_cluster
from metadata_files import CLUSTERS, directories, json_file
from metadata_partitions import MemoryCluster
from pyarrow import fs
from state_reference import in_order, reference_tables
from stopped_clusters import cluster_at

from falkirk.pipeline.filesystem import ArrowDisk
from falkirk.pipeline.fleet import FleetCluster
from falkirk.pipeline.readers.chunks import iter_chunks
from falkirk.pipeline.state.metadata import metadata_reader
from falkirk.pipeline.state.metadata_state import STATE_TABLES, metadata_state
from falkirk.pipeline.state.partitions import partition_rows
from falkirk.pipeline.tables import TABLES
from falkirk.storage.quorum_state import QuorumState, format_quorum_state

ARCHIVES = [
    *((f"cluster-{release}", ".") for release in CLUSTERS),
    *(("elr-4.3.1", f"data/n{node}") for node in (1, 2, 3)),
    ("mv-moves-3.7.2", "."),
    ("mv-moves-4.3.1", "."),
    ("image-writes-4.3.1", "."),
    ("image-writes-4.4.0", "."),
]
QUORUM_STATE = format_quorum_state(QuorumState(data_version=0, leader_epoch=1, current_voters=(1,)))


def rows_of(state):
    """All rows of all tables; each batch has the table's schema."""
    found = {}
    for name, batches in state.tables.items():
        found[name] = []
        for batch in batches:
            assert batch.schema.equals(TABLES[name].schema)
            batch.validate(full=True)
            found[name] += batch.to_pylist()
    return found


def assert_equal_tables(found, reference):
    for table, rows in reference.items():
        assert in_order(found[table]) == in_order(rows), table


def archived(archive, root):
    """The metadata partition of one node, as that of a cluster of its own."""
    directory = directories(f"{archive}.tar.gz")[root]
    files = {name: data for name, data in directory.snapshots.items() if name.endswith(".checkpoint")}
    return MemoryCluster(files=directory.logs | files | {"quorum-state": QUORUM_STATE})


@pytest.mark.parametrize("name", CLUSTER_NAMES)
def test_every_table_of_a_real_cluster_is_what_the_rows_say(kafka_directory, name):
    found = rows_of(metadata_state(fleet_cluster(kafka_directory(name))))
    assert found.keys() == STATE_TABLES
    assert_equal_tables(found, reference_tables(cluster_at(kafka_directory(name))))
    assert found["problems"] == []


@pytest.mark.parametrize(("archive", "root"), ARCHIVES)
def test_every_table_of_a_metadata_partition_is_what_the_rows_say(archive, root):
    cluster = archived(archive, root)
    found = rows_of(metadata_state(cluster.fleet()))
    assert_equal_tables(found, reference_tables(cluster.read()))
    assert found["problems"] == []


# --- What Kafka itself answered


def answers(tables):
    """What an Admin client is told, from the tables; in the form of `admin_answers`."""
    topics = {}
    for row in tables["topics"]:
        internal = row["name"] in {"__consumer_offsets", "__transaction_state", "__share_group_state"}
        partitions = [each for each in tables["partitions"] if each["topic_id"] == row["topic_id"]]
        topics[row["name"]] = {
            "id": row["topic_id"],
            "internal": internal,
            "partitions": [
                {"p": each["partition_id"], "leader": each["leader"], "replicas": each["replicas"], "isr": each["isr"]}
                for each in sorted(partitions, key=lambda each: each["partition_id"])
            ],
        }
    configs, scram, quotas = {}, {}, {}
    for row in tables["configs"]:
        resource = f"{CONFIG_TYPES[row['resource_type']]}:{row['resource_name']}"
        configs.setdefault(resource, {})[row["name"]] = row["value"]
    for row in sorted(tables["scram_credentials"], key=lambda row: row["mechanism"]):
        scram.setdefault(row["name"], []).append(f"{MECHANISMS[row['mechanism']]}:{row['iterations']}")
    for row in tables["client_quotas"]:
        who = ", ".join(f"{each['entity_type']}={each['entity_name'] or 'null'}" for each in row["entity"])
        quotas.setdefault(f"{{{who}}}", {})[row["key"]] = row["value"]
    levels = {row["feature"]: row["to_level"] for row in tables["feature_levels"] if row["is_current"]}
    return {
        "finalizedFeatures": {feature: level for feature, level in levels.items() if level},
        "topics": topics,
        "topicCount": len(tables["topics"]),
        "partitionCount": len(tables["partitions"]),
        "dynamicConfigs": configs,
        "acls": sorted(map(acl_text, tables["acls"])),
        "scram": scram,
        "quotas": quotas,
    }


def acl_text(row):
    pattern = f"resourceType={RESOURCE_TYPES[row['resource_type']]}, name={row['resource_name']}"
    entry = f"principal={row['principal']}, host={row['host']}, operation={OPERATIONS[row['operation']]}"
    return (
        f"(pattern=ResourcePattern({pattern}, patternType={PATTERN_TYPES[row['pattern_type']]}), "
        f"entry=({entry}, permissionType={PERMISSIONS[row['permission_type']]}))"
    )


@pytest.mark.parametrize("release", CLUSTERS)
def test_the_tables_answer_like_the_cluster_did(release):
    written = json_file(f"cluster-{release}.expected.json.gz")
    # The answers were given when the broker had read up to here.
    as_of = written["finalizedFeaturesEpoch"] + 1
    ours = answers(rows_of(metadata_state(archived(f"cluster-{release}", ".").fleet(as_of))))
    theirs = expected(written)
    if release < "4.1":
        # Before, an Admin client could not list which clients and groups have configs.
        of_all = ours["dynamicConfigs"]
        ours["dynamicConfigs"] = {name: of for name, of in of_all.items() if name.startswith(("TOPIC", "BROKER"))}
        assert len(of_all) > len(ours["dynamicConfigs"])
    assert {name: ours[name] for name in COMPARED} == theirs


@pytest.mark.parametrize("stage", ["-a", "-b", ""])
def test_the_tables_know_isr_elr_and_fencing_like_the_cluster_did(stage):
    written = json_file(f"elr-4.3.1.expected{stage}.json.gz")
    high_watermark = int(re.search(r"highWatermark=(\d+)", written["quorum"])[1])
    tables = rows_of(metadata_state(archived("elr-4.3.1", "data/n1").fleet(high_watermark)))
    names = {"elr": "eligible_leader_replicas"}
    for topic, texts in written["topics"].items():
        for number, theirs in map(partition_of_text, texts):
            [ours] = [row for row in tables["partitions"] if (row["topic"], row["partition_id"]) == (topic, number)]
            assert {name: ours[names.get(name, name)] for name in theirs} == theirs, (topic, number)
    fenced = re.findall(r"\(id: (\d+) rack: null isFenced: (\w+)\)", written["nodes"])
    assert {row["broker_id"]: row["fenced"] for row in tables["brokers"]} == {
        int(node): text == "true" for node, text in fenced
    }
    assert {row["broker_id"] for row in tables["brokers"] if row["fenced_since"] is not None} == {
        row["broker_id"] for row in tables["brokers"] if row["fenced"]
    }


# --- How it is read


@pytest.mark.slow
def test_chunks_and_batches_of_rows_do_not_show(kafka_directory, monkeypatch):
    cluster = fleet_cluster(kafka_directory("4.3.1"))
    whole = rows_of(metadata_state(cluster))
    monkeypatch.setattr(metadata_reader, "iter_chunks", partial(iter_chunks, chunk_bytes=700))
    monkeypatch.setattr(partition_rows, "ROWS_PER_BATCH", 7)
    state = metadata_state(cluster)
    assert len(list(state.tables["partitions"])) == -(-len(whole["partitions"]) // 7)
    assert rows_of(state) == whole


def test_an_object_store_gives_the_same(kafka_directory):
    cluster = fleet_cluster(kafka_directory("elr-4.3.1"))
    disk = ArrowDisk(fs.LocalFileSystem())

    def moved(log_dir):
        return log_dir and replace(log_dir, location=replace(log_dir.location, disk=disk))

    nodes = [
        replace(node, log_dirs=tuple(map(moved, node.log_dirs)), metadata_dir=moved(node.metadata_dir))
        for node in cluster.nodes
    ]
    assert rows_of(metadata_state(replace(cluster, nodes=tuple(nodes)))) == rows_of(metadata_state(cluster))


def test_tables_can_be_gone_through_more_than_once(kafka_directory):
    tables = metadata_state(fleet_cluster(kafka_directory("4.0.0"))).tables
    for name, batches in tables.items():
        assert [batch.to_pylist() for batch in batches] == [batch.to_pylist() for batch in batches], name


@pytest.mark.slow
def test_a_table_alone_is_what_it_is_among_all(kafka_directory):
    cluster = fleet_cluster(kafka_directory("4.3.1"))
    whole = rows_of(metadata_state(cluster))
    for name in STATE_TABLES:
        assert rows_of(metadata_state(cluster, tables=frozenset({name, "requests"}))) == {name: whole[name]}


def test_the_files_that_were_read_are_told_with_their_ends(kafka_directory):
    state = metadata_state(fleet_cluster(kafka_directory("elr-4.3.1")))
    assert state.chosen_node == 1
    assert state.snapshot == state.files[0].location
    assert [file.location.uri.rpartition("/")[2] for file in state.files] == [
        "00000000000000000354-0000000001.checkpoint",
        "00000000000000000000.log",
    ]
    assert [file.end for file in state.files] == [file.location.disk.size(file.location.path) for file in state.files]


def test_a_cluster_of_which_only_request_logs_are_known_has_no_metadata():
    state = metadata_state(FleetCluster(name="requests", cluster_id=None))
    assert (state.chosen_node, state.snapshot, state.files) == (None, None, ())
    assert {name: rows for name, rows in rows_of(state).items() if rows} == {}
