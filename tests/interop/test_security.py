"""Our controllers and real nodes over SASL_SSL: brokers, clients, delegation tokens, and real controllers."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka_cluster import Clusters
from kafka_scenarios import await_leadership
from kafka_tools import QUORUM, TOPICS, await_output, outputs, run_tools
from secure_cluster import ADMIN, ALICE, SESSION_MS, SecureCluster, login
from waiting import becomes

pytestmark = pytest.mark.interop
# Records; one comes every half second.
LAG_MAX = 20
TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"


@pytest.fixture(scope="module")
def running(module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> SecureCluster:
    cluster = SecureCluster(("4.3.1",), ("4.3.1", "3.9.1"), home=tmp_path_factory.mktemp("secure"))
    module_clusters.adopt(cluster)
    user, password = ALICE
    cluster.format(release_version="3.9-IV0", scram=[f"SCRAM-SHA-512=[name={user},password={password}]"])
    cluster.start()
    cluster.started_s = time.monotonic()
    return cluster


@pytest.fixture
def cluster(running: SecureCluster) -> Iterator[SecureCluster]:
    """The cluster; a failed test prints what our nodes logged."""
    yield running
    print(running.controller_logs())  # noqa: T201 - pytest shows it with the failure


def test_real_brokers_serve_under_controllers_that_they_meet_over_sasl_ssl(cluster: SecureCluster) -> None:
    create = ["--create", "--topic", "secured", "--partitions", "3", "--replication-factor", "2"]
    outputs([TOPICS, "--bootstrap-server", cluster.running_servers, *create])
    await_leadership(cluster, lambda state: state["brokers"] == [11, 12])


@pytest.mark.parametrize(("mechanism", "who"), [("PLAIN", ADMIN), ("SCRAM-SHA-512", ALICE)])
def test_a_real_client_talks_to_controllers_over_sasl_ssl(
    cluster: SecureCluster, mechanism: str, who: tuple[str, str]
) -> None:
    right = cluster.client_file("right", cluster.over_tls(mechanism, *who))
    wrong = cluster.client_file("wrong", cluster.over_tls(mechanism, who[0], "wrong"))
    command = [QUORUM, "--bootstrap-controller", cluster.bootstrap_controllers, "--command-config"]
    good, bad = run_tools(
        [*command, str(right), "describe", "--status"], [*command, str(wrong), "describe", "--status"]
    )
    if who == ADMIN:
        assert "LeaderId:" in good.output
    else:
        assert "ClusterAuthorizationException" in good.output
    assert bad.status != 0
    assert "SaslAuthenticationException" in bad.output


def test_a_delegation_token_of_a_real_client_is_made_used_and_ended(cluster: SecureCluster) -> None:
    alice = cluster.client_file("alice", login("SCRAM-SHA-512", *ALICE))
    servers = cluster.scram_servers
    tokens = [TOKENS, "--bootstrap-server", servers, "--command-config", str(alice)]
    (made,) = outputs([*tokens, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"])
    token_id, secret = made.strip().splitlines()[-1].split()[:2]
    await_output([*tokens, "--describe", "--owner-principal", "User:alice"], token_id)

    bearer = cluster.client_file("bearer", login("SCRAM-SHA-512", token_id, secret, is_token=True))
    listed = [TOPICS, "--bootstrap-server", servers, "--command-config", str(bearer), "--list"]
    again = [TOKENS, "--bootstrap-server", servers, "--command-config", str(bearer), "--create"]
    used, refused = run_tools(listed, [*again, "--max-life-time-period", "-1"])
    assert used.status == 0, used.output
    assert "DelegationTokenDisabledException" in refused.output or "not allowed" in refused.output

    outputs([*tokens, "--expire", "--expiry-time-period", "-1", "--hmac", secret])
    await_output(listed, "SaslAuthenticationException")


def test_sessions_of_nodes_were_renewed_before_they_ended(cluster: SecureCluster) -> None:
    becomes(lambda: time.monotonic() - cluster.started_s > 1.2 * SESSION_MS / 1000, True)
    outputs([TOPICS, "--bootstrap-server", cluster.running_servers, "--list"])
    for controller in cluster.controllers:
        assert "session-expired" not in controller.log_text()


@pytest.mark.full
def test_a_controller_of_ours_votes_with_real_ones(clusters: Clusters, tmp_path: Path) -> None:
    cluster = SecureCluster(("4.3.1", "4.3.1", "4.3.1"), (), home=tmp_path, real_controllers={1, 2})
    clusters.adopt(cluster)
    cluster.format()
    cluster.start()
    admin = cluster.client_file("admin", cluster.over_tls("PLAIN", *ADMIN))
    command = [QUORUM, "--bootstrap-controller", cluster.bootstrap_controllers, "--command-config", str(admin)]
    becomes(lambda: in_step(outputs([*command, "describe", "--replication"])[0]), {1, 2, 3})


def in_step(reported: str) -> set[int]:
    """The voters that have fetched within the last seconds, so that they lag by little."""
    rows = [row.split() for row in reported.splitlines()[1:]]
    return {int(row[0]) for row in rows if int(row[3]) < LAG_MAX and int(row[2]) > 0}
