"""What a real broker's coordinators have in use is found before a feature is lowered under them."""

from collections.abc import Iterator

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from falkirk_program import falkirk
from kafka_cluster import Clusters
from kafka_java import seed
from mixed_cluster import MixedCluster

from falkirk.client.blocking_admin import Admin
from falkirk.client.config import ClientConfig
from falkirk.client.feature_update import FeatureUpdate, UpdateFeaturesResult
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.upgrade_type import UpgradeType

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def cluster(module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    made = MixedCluster(("4.3.1",), ("4.3.1",), home=tmp_path_factory.mktemp("cluster"))
    module_clusters.adopt(made)
    made.format(release_version="4.3-IV0")
    made.start()
    yield made
    print(made.controller_logs())  # noqa: T201 - pytest shows it with the failure


def lowered(cluster: MixedCluster, name: str, upgrade_type: UpgradeType) -> UpdateFeaturesResult:
    host, port = cluster.bootstrap_servers.rsplit(":", 1)
    with Admin([Endpoint(host, int(port))], ClientConfig()) as admin:
        return admin.update_features({name: FeatureUpdate(0, upgrade_type)})


def keys(result: UpdateFeaturesResult) -> list[str]:
    return [] if result.details is None else [item["key"] for item in result.details.losses]


def test_open_transactions_and_groups_of_a_real_broker_are_named(cluster: MixedCluster) -> None:
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    topics = AdminClient(servers)
    topics.create_topics([NewTopic("t", 1, 1)])["t"].result(30)
    paying = ck.Producer({**servers, "transactional.id": "paying"})
    paid = ck.Producer({**servers, "transactional.id": "paid"})
    for producer in (paying, paid):
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("t", b"value")
        producer.flush(30)
    paid.commit_transaction(30)
    group = {
        "group.id": "modern",
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_uncommitted",
    }
    consumer = ck.Consumer({**servers, **group})
    consumer.subscribe(["t"])
    assert consumer.consume(1, 30)

    for name, key in (("transaction.version", "transactional id paying"), ("group.version", "group modern")):
        refused = lowered(cluster, name, UpgradeType.SAFE_DOWNGRADE)
        failure = refused.values[name]
        assert failure is not None
        assert failure.error_code == ErrorCode.INVALID_UPDATE_VERSION
        assert key in failure.message
        assert keys(refused) == [key]
    # The refusal of group.version, the last one, names the group's member too.
    assert consumer.memberid() in failure.message

    paying.commit_transaction(30)
    done = lowered(cluster, "transaction.version", UpgradeType.SAFE_DOWNGRADE)
    assert done.values == {"transaction.version": None}
    assert keys(done) == []
    cut = lowered(cluster, "group.version", UpgradeType.UNSAFE_DOWNGRADE)
    assert cut.values == {"group.version": None}
    assert keys(cut) == ["group modern"]
    consumer.close()


def test_share_and_streams_groups_of_a_real_broker_are_named(cluster: MixedCluster) -> None:
    made = seed(cluster.bootstrap_servers, "--steps", "topics,data,share-groups,streams-groups")
    assert made["left_out"] == {}
    for kind in ("share", "streams"):
        listed = falkirk("groups", "list", f"--{kind}", "--json", "--bootstrap-server", cluster.bootstrap_servers)
        groups = [f"group {each['group']}" for each in listed.document["groups"]]
        assert len(groups) > 1

        name = f"{kind}.version"
        refused = lowered(cluster, name, UpgradeType.SAFE_DOWNGRADE)
        failure = refused.values[name]
        assert failure is not None
        assert failure.error_code == ErrorCode.INVALID_UPDATE_VERSION
        assert sorted(keys(refused)) == sorted(groups)
        assert [group for group in groups if group not in failure.message] == []
        cut = lowered(cluster, name, UpgradeType.UNSAFE_DOWNGRADE)
        assert cut.values == {name: None}
        assert sorted(keys(cut)) == sorted(groups)
