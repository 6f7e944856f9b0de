"""Clusters for other people's tests: their nodes, releases, security, faults, and what is refused."""

import socket
import struct
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from waiting import await_at_once, becomes

from falkirk.testing import ClusterError, KafkaCluster
from falkirk.testing.security import secured


def brokers(cluster, *asked):
    """Return the brokers that a new client learns of at the nodes `asked`, by default at any."""
    servers = cluster.servers_of(*asked) if asked else cluster.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers, **cluster.security.client_properties})
    return set(admin.list_topics(timeout=30).brokers)


@pytest.mark.slow
def test_nodes_of_several_releases_make_one_cluster_and_leave_nothing_behind():
    with KafkaCluster(release=["3.7", "4.0", "4.4"]) as cluster:
        assert brokers(cluster) == {1, 2, 3}
        assert cluster.active_controller() in {1, 2, 3}
        directory, port = cluster.directory, int(cluster.bootstrap_servers.rpartition(":")[2])
    assert not directory.exists()
    with socket.socket() as tried:
        assert tried.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.slow
def test_a_killed_node_is_missed_and_comes_back_as_another_release():
    with KafkaCluster(release="3.9", nodes=3, properties={"broker.session.timeout.ms": "1000"}) as cluster:
        cluster.kill(2)
        with pytest.raises(ClusterError, match="node 2 does not run"):
            cluster.kill(2)
        cluster.wait_until_in_sync()
        cluster.start(2, release="4.0")
        assert cluster.releases == {1: "3.9", 2: "4.0", 3: "3.9"}
        assert brokers(cluster) == {1, 2, 3}
        assert "Kafka Server started" in cluster.log(2)


@pytest.mark.slow
def test_nodes_that_are_cut_off_elect_another_controller():
    with KafkaCluster(release="4.3", nodes=3) as cluster:
        before = cluster.active_controller()
        others = {1, 2, 3} - {before}
        cluster.partition(before)
        await_at_once(lambda: any(cluster._running[node].node.is_active_controller for node in others))
        cluster.heal()
        cluster.wait_until_in_sync()
        assert brokers(cluster) == {1, 2, 3}


@pytest.mark.slow
def test_a_node_that_is_cut_off_is_fenced_and_leads_nothing():
    with KafkaCluster(release="4.3", nodes=3, properties={"broker.session.timeout.ms": "1000"}) as cluster:
        cut = (({1, 2, 3} - {cluster.active_controller()}) - {1}).pop()
        cluster.partition(cut)
        # A client may go on asking the node that is cut off, which knows of nothing.
        becomes(lambda: brokers(cluster, *({1, 2, 3} - {cut})), {1, 2, 3} - {cut})
        cluster.heal()
        cluster.wait_until_in_sync()
        assert brokers(cluster) == {1, 2, 3}


@pytest.mark.slow
# asyncio drops a connection that ends in its TLS handshake without closing it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT"])
def test_a_client_with_the_clusters_security_gets_in_and_one_without_does_not(protocol):
    with KafkaCluster(security=protocol) as cluster:
        assert brokers(cluster) == {1}
        stranger = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        with pytest.raises(KafkaException) as refused:
            stranger.list_topics(timeout=1)
        # librdkafka connects again and again; which of the two it says depends on when its time is over.
        assert refused.value.args[0].code() in {KafkaError._TRANSPORT, KafkaError._TIMED_OUT}


@pytest.mark.slow
def test_a_connection_without_a_login_is_closed_and_nothing_is_answered():
    metadata_of_all_topics = struct.pack(">ihhihi", 14, 3, 1, 7, -1, -1)
    with KafkaCluster(security="SASL_PLAINTEXT") as cluster:
        host, port = cluster.bootstrap_servers.split(":")
        with socket.create_connection((host, int(port)), timeout=30) as stranger:
            stranger.sendall(metadata_of_all_topics)
            assert stranger.recv(1) == b""
        assert "Unexpected Kafka request of API key 3 during SASL handshake" in cluster.log(1)


def test_what_is_no_security_protocol_is_refused_by_name(tmp_path):
    with pytest.raises(ClusterError, match="security TLS: one of PLAINTEXT, SSL"):
        secured("TLS", tmp_path)


def test_releases_and_nodes_that_disagree_are_refused():
    with pytest.raises(ClusterError, match="2 releases for 3 nodes"):
        KafkaCluster(release=["3.9", "4.0"], nodes=3)


def test_the_plugin_is_an_entry_point():
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nfalkirk = "falkirk.testing.pytest_plugin"' in project
