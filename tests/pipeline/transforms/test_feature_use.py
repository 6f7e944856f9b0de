"""Which features are in use, and by whom."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.groups import GROUPS, TRANSACTIONS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.metadata_state import PARTITIONS
from falkirk.pipeline.tables.requests import REQUESTS
from falkirk.pipeline.transforms.feature_use import USE_COLUMNS, client_users, feature_users

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TABLES = (CLUSTERS, GROUPS, TRANSACTIONS, FEATURE_LEVELS, PARTITIONS, REQUESTS)


def group(name, type_, members):
    return {"group": name, "type": type_, "members": members, "last_timestamp": NOW}


def transaction(name, value_version, client_version):
    return {
        "transactional_id": name,
        "value_version": value_version,
        "client_transaction_version": client_version,
        "last_update_timestamp": NOW,
    }


def request(client_id, api_key, version, **fields):
    return {
        "connection": client_id, "client_id": client_id, "listener": "L", "api_key": api_key, "api_version": version,
        "is_forwarded": False, "timestamp": NOW, **fields,
    }  # fmt: skip


def level(feature, to_level, *, is_current=True):
    return {"feature": feature, "to_level": to_level, "is_current": is_current}


FLEET = {
    "new": {
        CLUSTERS: [{"kraft_version": 1, "voters": [1, 2]}],
        FEATURE_LEVELS: [
            level("kraft.version", 1),
            level("group.version", 1),
            level("transaction.version", 1, is_current=False),
            level("transaction.version", 2),
            level("eligible.leader.replicas.version", 1),
        ],
        GROUPS: [
            group("orders", "consumer", 3),
            group("old", "classic", 2),
            group("alone", "simple", 0),
            group("queue", "share", 0),
            group("flow", "streams", 1),
        ],
        TRANSACTIONS: [transaction("t0", 0, None), transaction("t1", 1, 0), transaction("t2", 1, 2)],
        PARTITIONS: [
            {"topic": "t", "eligible_leader_replicas": [1], "last_known_elr": None},
            {"topic": "t", "eligible_leader_replicas": [], "last_known_elr": [2]},
            {"topic": "t", "eligible_leader_replicas": [], "last_known_elr": []},
            {"topic": "u", "eligible_leader_replicas": None, "last_known_elr": None},
        ],
        REQUESTS: [
            request("a", 68, 0, software_name="apache-kafka-java", software_version="4.3.1"),
            request("a", 68, 1),
            request("b", 76, 1),
            request("b", 78, 1),
            request("c", 26, 5),
            request("d", 26, 4),
            request(None, 88, 0),
            # What only nodes send makes its connection a node's.
            request("node", 27, 1),
            request("node", 68, 0),
        ],
    },
    "old": {
        CLUSTERS: [{"kraft_version": 0, "voters": [1]}],
        GROUPS: [group("left", "consumer", 0)],
    },
}


@pytest.fixture(scope="module")
def use(spark):
    tables = {}
    for table in TABLES:
        parts = [table.rows(rows.get(table, [])).to_pylist() for rows in FLEET.values()]
        rows = [{"cluster": name, **row} for name, part in zip(FLEET, parts, strict=True) for row in part]
        columns = table.full_schema.empty_table()
        tables[table.name] = spark.createDataFrame(columns.from_pylist(rows, schema=columns.schema))
    found = feature_users()(tables).unionByName(client_users()(tables)).toArrow()
    assert tuple(found.schema.names) == USE_COLUMNS
    return SimpleNamespace(rows=found.to_pylist())


def told(use, cluster, feature):
    """Return (who, level needed, count, unit), and the level that all rows agree on."""
    rows = [row for row in use.rows if (row["cluster"], row["feature"]) == (cluster, feature)]
    [finalized] = {row["level"] for row in rows}
    return finalized, {(row["used_by"], row["needed_level"], row["count"], row["unit"]) for row in rows}


@pytest.mark.slow
def test_groups_and_their_clients_use_the_feature_of_their_protocol(use):
    assert told(use, "new", "group.version") == (
        1,
        {
            ("consumer group orders", 1, 3, "members"),
            ("client a (apache-kafka-java 4.3.1)", 1, 2, "requests"),
        },
    )
    assert told(use, "new", "share.version") == (
        0,
        {("share group queue", 1, 0, "members"), ("client b", 1, 2, "requests")},
    )
    assert told(use, "new", "streams.version") == (
        0,
        {("streams group flow", 1, 1, "members"), ("client (no client.id)", 1, 1, "requests")},
    )


@pytest.mark.slow
def test_transactional_ids_use_the_level_that_their_records_and_clients_have(use):
    assert told(use, "new", "transaction.version") == (
        2,
        {
            ("transactional id t1", 1, 1, "transactional ids"),
            ("transactional id t2", 2, 1, "transactional ids"),
            ("client c", 2, 1, "requests"),
        },
    )


@pytest.mark.slow
def test_topics_use_eligible_leader_replicas_where_partitions_have_some(use):
    assert told(use, "new", "eligible.leader.replicas.version") == (1, {("topic t", 1, 2, "partitions")})


@pytest.mark.slow
def test_voters_use_kraft_version_where_the_log_names_them(use):
    assert told(use, "new", "kraft.version") == (1, {("voter 1", 1, 1, "voters"), ("voter 2", 1, 1, "voters")})
    assert not [row for row in use.rows if row["cluster"] == "old" and row["feature"] == "kraft.version"]


@pytest.mark.slow
def test_a_feature_that_is_not_finalized_may_still_be_in_use(use):
    assert told(use, "old", "group.version") == (0, {("consumer group left", 1, 0, "members")})


@pytest.mark.slow
def test_the_last_use_is_told_where_it_is_known(use):
    times = {row["kind"]: row["last_timestamp"] for row in use.rows}
    assert times.pop("topic") is None
    assert times.pop("voter") is None
    assert set(times.values()) == {NOW}
