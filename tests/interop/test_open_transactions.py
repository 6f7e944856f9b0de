"""Open transactions of a cluster of ours: what the pipeline and the offline tools tell of them, and a target makes."""

import json
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from falkirk_node import OurCluster
from falkirk_program import downgraded, falkirk, log_dirs
from ingested_rows import ingested_rows
from kafka_cluster import Clusters, KafkaCluster

pytestmark = pytest.mark.interop
TOPIC, GROUP = "orders", "readers"
PARTITIONS = 2
TIMEOUT_S = 30
OPEN = {"paying", "settling"}


class Shop:
    """Producers of a cluster: `paid` has committed, `refunded` aborted; `paying`, `settling` leave transactions open.

    `settling` has an offset of the group in its transaction, too.
    """

    def __init__(self, servers: str) -> None:
        self._servers = {"bootstrap.servers": servers, "log_level": 0}
        self._producers: dict[str, ck.Producer] = {}
        self._consumer = ck.Consumer({**self._servers, "group.id": GROUP, "enable.auto.commit": False})

    def leave(self) -> None:
        """Make the topic and the transactions."""
        admin = AdminClient(self._servers)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)], operation_timeout=TIMEOUT_S)[TOPIC].result(TIMEOUT_S)
        for name in ("paid", "refunded", "paying", "settling"):
            producer = self._begin(name)
            for number in range(PARTITIONS):
                producer.produce(TOPIC, name.encode(), partition=number)
            assert producer.flush(TIMEOUT_S) == 0
        self._producers["paid"].commit_transaction(TIMEOUT_S)
        self._producers["refunded"].abort_transaction(TIMEOUT_S)
        member = self._consumer.consumer_group_metadata()
        offsets = [ck.TopicPartition(TOPIC, 0, 1)]
        self._producers["settling"].send_offsets_to_transaction(offsets, member, TIMEOUT_S)

    def commit(self, name: str) -> None:
        """Make a transaction of an id, and commit it: what was open before is aborted."""
        producer = self._begin(name)
        producer.produce(TOPIC, f"{name} again".encode(), partition=0)
        producer.commit_transaction(TIMEOUT_S)

    def read(self, count: int) -> list[str]:
        """Return what is committed in the first partition, that many records; nothing may follow up to its end."""
        reading = {"group.id": "unused", "isolation.level": "read_committed", "enable.partition.eof": True}
        consumer = ck.Consumer({**self._servers, **reading})
        consumer.assign([ck.TopicPartition(TOPIC, 0, 0)])
        found: list[str] = []
        while (record := consumer.poll(TIMEOUT_S)) is not None and record.error() is None:
            found.append(record.value().decode())
        consumer.close()
        assert len(found) == count, found
        return found

    def close(self) -> None:
        """Close the consumer; producers just vanish."""
        self._consumer.close()

    def _begin(self, name: str) -> ck.Producer:
        producer = ck.Producer({**self._servers, "transactional.id": name, "transaction.timeout.ms": 900_000})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        self._producers[name] = producer
        return producer


@pytest.fixture(scope="module")
def live_check() -> dict[str, Any]:
    """What `lift check` told of the running cluster."""
    return {}


@pytest.fixture(scope="module")
def source(
    module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory, live_check: dict[str, Any]
) -> KafkaCluster:
    """A node of ours that was killed with the transactions open."""
    cluster = OurCluster.new("4.3.1", tmp_path_factory.mktemp("cluster"), dynamic=True)
    module_clusters.adopt(cluster)
    cluster.format()
    cluster.start()
    shop = Shop(cluster.bootstrap_servers)
    shop.leave()
    checked = falkirk("lift", "check", "--bootstrap-server", cluster.bootstrap_servers, "--to", "3.9", "--json")
    live_check.update(checked.document)
    cluster.kill()
    shop.close()
    return cluster


def named(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["transactional_id"]: row for row in rows}


def test_lift_check_names_what_is_open_on_the_running_cluster(source: KafkaCluster, live_check: dict[str, Any]) -> None:
    found = named(live_check["open_transactions"])
    assert found.keys() == OPEN
    orders = [f"{TOPIC}-{number}" for number in range(PARTITIONS)]
    assert {each["state"] for each in found.values()} == {"ongoing"}
    assert sorted(found["paying"]["partitions"]) == orders
    [offsets] = set(found["settling"]["partitions"]) - set(orders)
    assert offsets.startswith("__consumer_offsets-")
    cut_off = [loss for loss in live_check["cut_off"] if loss["kind"] == "open_transaction"]
    assert {loss["key"] for loss in cut_off} == {f"transactional id {name}" for name in OPEN}


def test_logdir_plan_warns_of_them_where_the_target_does_not_run_them_as_they_were_begun(source: KafkaCluster) -> None:
    def warned(level: str) -> set[str]:
        planned = falkirk("logdir", "plan", *log_dirs(source), "--to", level, "--json").document
        return set(named([each["fields"] for each in planned["warnings"] if each["kind"] == "open_transaction"]))

    assert warned("3.9") == OPEN
    assert warned("4.2") == set()


def test_the_tables_of_the_fleet_have_them(source: KafkaCluster, tmp_path: Path) -> None:
    rows = ingested_rows(log_dirs(source), tmp_path / "rows")
    transactions = named([json.loads(row) for row in rows["transactions"]])
    states = {name: row["status"] for name, row in transactions.items()}
    assert states == {
        "paid": "CompleteCommit",
        "refunded": "CompleteAbort",
        "paying": "Ongoing",
        "settling": "Ongoing",
    }
    assert {name for name, row in transactions.items() if row["topic_partitions"]} == OPEN
    [pending] = [row for row in map(json.loads, rows["committed_offsets"]) if row["is_pending"]]
    assert (pending["group"], pending["topic"], pending["committed_offset"]) == (GROUP, TOPIC, 1)
    [group] = [row for row in map(json.loads, rows["groups"]) if row["group"] == GROUP]
    assert group["pending_offsets"] == 1


def test_at_the_target_they_stay_open_until_the_next_producer_ends_them(
    source: KafkaCluster, clusters: Clusters, tmp_path: Path
) -> None:
    target, ledger = downgraded(source, "3.9.1", tmp_path)
    assert {each["fields"]["transactional_id"] for each in ledger["warnings"] if each["kind"] == "open_transaction"}
    with clusters.adopt(target).running():
        servers = target.bootstrap_servers

        def listed() -> dict[str, str]:
            ended = falkirk("transactions", "list", "--bootstrap-server", servers, "--json")
            return {each["transactional_id"]: each["state"] for each in ended.document["transactions"]}

        assert {name for name, state in listed().items() if state == "Ongoing"} == OPEN
        shop = Shop(servers)
        assert shop.read(1) == ["paid"]
        for name in sorted(OPEN):
            shop.commit(name)
        assert "Ongoing" not in listed().values()
        assert shop.read(3) == ["paid", "paying again", "settling again"]
        shop.close()


@pytest.mark.spark
@pytest.mark.full
def test_the_report_of_the_fleet_names_what_is_open(source: KafkaCluster, tmp_path: Path) -> None:
    warehouse = ("--warehouse", tmp_path / "warehouse")
    assert falkirk("fleet", "ingest", *log_dirs(source), *warehouse).status == 0
    report = falkirk("fleet", "report", "--to", "3.9", "--out", tmp_path / "report", *warehouse, "--json")
    assert report.status in (0, 3), report.stderr
    document = json.loads((tmp_path / "report" / "report.json").read_text())
    used = {row["used_by"]: row["needed_level"] for row in document["feature_use"]}
    for name in OPEN:
        assert any(name in used_by for used_by in used), used
