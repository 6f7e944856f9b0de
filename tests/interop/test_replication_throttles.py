"""kafka-reassign-partitions --throttle with nodes of ours: set, shown by kafka-configs, and removed."""

import json
from pathlib import Path

import pytest
from falkirk_node import OurCluster
from kafka_cluster import Clusters
from kafka_tools import CONFIGS, REASSIGN, TOPICS, await_output, outputs
from topic_state import live_brokers
from waiting import becomes

pytestmark = pytest.mark.interop
THROTTLES = {
    "leader.replication.throttled.rate=700000",
    "follower.replication.throttled.rate=700000",
    "replica.alter.log.dirs.io.max.bytes.per.second=800000",
}


def test_throttles_of_a_reassignment_are_set_shown_and_removed(clusters: Clusters, tmp_path: Path) -> None:
    cluster = OurCluster.new("4.3.1", tmp_path, {1: ("controller",), 11: ("broker",), 12: ("broker",)}, log_dirs=2)
    clusters.adopt(cluster)
    cluster.format()
    cluster.start()
    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    becomes(lambda: live_brokers(cluster.nodes[11].layout.broker_port), {11, 12})
    log_dirs = {node_id: [str(path) for path in cluster.nodes[node_id].layout.log_dirs] for node_id in (11, 12)}
    wanted = {"topic": "moved", "partition": 0, "replicas": [12, 11], "log_dirs": [log_dirs[12][1], "any"]}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
    by_plan = ["--reassignment-json-file", str(plan)]
    throttles = ["--throttle", "700000", "--replica-alter-log-dirs-throttle", "800000"]
    describe_broker = [CONFIGS, *servers, "--describe", "--entity-type", "brokers", "--entity-name", "12"]
    describe_topic = [CONFIGS, *servers, "--describe", "--topic", "moved"]

    _, executed = outputs(
        [TOPICS, *servers, "--create", "--topic", "moved", "--replica-assignment", "11"],
        [REASSIGN, *servers, "--execute", *by_plan, *throttles],
    )
    assert "The inter-broker throttle limit was set to 700000 B/s" in executed
    assert "The replica-alter-dir throttle limit was set to 800000 B/s" in executed
    await_output(describe_topic, "follower.replication.throttled.replicas=0:12")
    broker, topic = outputs(describe_broker, describe_topic)
    assert {word for word in broker.split() if word in THROTTLES} == THROTTLES
    assert "leader.replication.throttled.replicas=0:11" in topic
    await_output([REASSIGN, *servers, "--verify", *by_plan], "Reassignment of partition moved-0 is completed.")

    (verified,) = outputs([REASSIGN, *servers, "--verify", *by_plan])
    assert "Clearing broker-level throttles on brokers 11,12" in verified
    assert "Clearing topic-level throttles on topic moved" in verified
    broker, topic = outputs(describe_broker, describe_topic)
    assert "throttled" not in broker + topic
    assert "replica.alter.log.dirs.io" not in broker
