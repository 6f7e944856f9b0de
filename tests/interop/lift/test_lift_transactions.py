"""Transactions that are open while real Kafka is lifted: nothing aborts them unless the lift's file says so."""

from pathlib import Path

import confluent_kafka as ck
import pytest
import yaml
from confluent_kafka import admin as ck_admin
from kafka_cluster import Clusters
from kafka_node import BROKER, CONTROLLER
from lifted_cluster import Lifted, under_load

pytestmark = pytest.mark.interop
ONE = {1: (CONTROLLER,), 11: (BROKER,)}
TOPIC = "payments"
TIMEOUT_S = 60


def accept(lifted: Lifted, *kinds: str) -> None:
    document = yaml.safe_load(lifted.file.read_text())
    lifted.file.write_text(yaml.safe_dump(document | {"accept_losses": list(kinds)}))


def read_committed(servers: str, wanted: int) -> list[bytes]:
    """Read so many values that a consumer of committed records is given, and whatever else comes with them."""
    settings = {"bootstrap.servers": servers, "group.id": "reader", "isolation.level": "read_committed"}
    consumer = ck.Consumer(settings)
    consumer.assign([ck.TopicPartition(TOPIC, 0, ck.OFFSET_BEGINNING)])
    values: list[bytes] = []
    while len(values) < wanted:
        messages = consumer.consume(wanted, TIMEOUT_S)
        assert messages, f"blocked by what is open, behind {values}"
        values += [value for message in messages if isinstance(value := message.value(), bytes)]
    consumer.close()
    return values


def test_an_open_transaction_is_named_then_aborted_where_that_is_accepted(clusters: Clusters, tmp_path: Path) -> None:
    """A coordinator of 4.3.1 cannot write the id's state any more; that of the older binaries can."""
    with under_load(clusters, tmp_path, ONE, hooks=["roll"]) as lifted:
        servers = lifted.cluster.bootstrap_servers
        admin = ck_admin.AdminClient({"bootstrap.servers": servers})
        admin.create_topics([ck_admin.NewTopic(TOPIC, 1, 1)])[TOPIC].result(TIMEOUT_S)
        producer = ck.Producer({
            "bootstrap.servers": servers, "transactional.id": "payer", "transaction.timeout.ms": 900_000,
        })  # fmt: skip
        producer.init_transactions(TIMEOUT_S)
        for is_committed in (True, False):
            producer.begin_transaction()
            producer.produce(TOPIC, b"kept" if is_committed else b"open")
            if is_committed:
                producer.commit_transaction(TIMEOUT_S)
        producer.flush(TIMEOUT_S)

        # The load has a member of such a group, too.
        accept(lifted, "consumer_group")
        refused = lifted.lift("run")
        assert refused.status == 3, refused
        assert "would lose open_transaction, which accept_losses does not name" in refused.stderr
        accept(lifted, "consumer_group", "open_transaction")
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == "3.9-IV0"
        [aborts] = [entry for entry in lifted.status()["entries"] if entry["event"] == "aborts-transactions"]
        assert "payer" in aborts["fields"]["reason"]

        with pytest.raises(ck.KafkaException) as fenced:
            producer.commit_transaction(TIMEOUT_S)
        assert fenced.value.args[0].fatal() or fenced.value.args[0].txn_requires_abort()
        again = ck.Producer({"bootstrap.servers": servers, "transactional.id": "payer"})
        again.init_transactions(TIMEOUT_S)
        again.begin_transaction()
        again.produce(TOPIC, b"after")
        again.commit_transaction(TIMEOUT_S)
        assert read_committed(servers, 2) == [b"kept", b"after"]
        lifted.check_voters()
