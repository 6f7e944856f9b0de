"""KIP-584's own sessions with its tool: what falkirk prints is, space by space, what the KIP has."""

import pytest
from kip_584_brokers import Kip584Brokers, RealZooKeeper, ValuesOfZooKeeper
from kip_584_servers import Kip584Servers
from kip_584_sessions import (
    DESCRIBE,
    DOWNGRADE_ALL,
    FINALIZED,
    FINALIZED_FOR_UPDATE,
    SUPPORTED,
    SUPPORTED_FOR_UPDATE,
    UPDATE,
    UPGRADE_ALL,
    kip_session,
)

from falkirk.versions import inter_broker_protocol
from falkirk.versions.inter_broker_protocol import IBP_FEATURE
from falkirk.versions.release import Release

BEFORE = {"group_coordinator": 1, "transaction_coordinator": 4}
UPGRADED = {"consumer_offsets_topic_schema": 1, "group_coordinator": 2, "transaction_coordinator": 5}
IBP = inter_broker_protocol.feature_level(inter_broker_protocol.latest(Release.parse("3.9")))
UPDATED = {"consumer_offsets_topic_schema": 1, "group_coordinator": 2, "transaction_coordinator": 3}


def play(falkirk, cluster, heading, *words, notes=0):
    session = kip_session(heading, cluster.servers)
    answer = falkirk("features", *session.words, *words)
    # Brokers of ours have the KIP's ibp-feature besides those that its sessions show.
    assert [line for line in answer.stdout.splitlines() if IBP_FEATURE not in line] == list(session.lines)
    assert (answer.exit_code, len(answer.stderr.splitlines())) == (0, notes)


@pytest.mark.parametrize("versions", ["0", "0-1"])
def test_the_basic_sessions_print_what_the_kip_has(falkirk, versions):
    cluster = Kip584Servers(SUPPORTED, FINALIZED, versions=versions)
    notes = int(versions == "0")
    with cluster.running():
        play(falkirk, cluster, DESCRIBE)
        play(falkirk, cluster, UPGRADE_ALL, "--dry-run", notes=notes)
        assert cluster.levels == BEFORE
        play(falkirk, cluster, UPGRADE_ALL)
        assert cluster.levels == UPGRADED
        play(falkirk, cluster, DOWNGRADE_ALL, "--dry-run", notes=notes)
        assert cluster.levels == UPGRADED
        play(falkirk, cluster, DOWNGRADE_ALL)
        assert cluster.levels == BEFORE


@pytest.mark.parametrize("versions", ["0", "0-1"])
def test_the_advanced_session_prints_what_the_kip_has(falkirk, versions):
    cluster = Kip584Servers(SUPPORTED_FOR_UPDATE, FINALIZED_FOR_UPDATE, versions=versions)
    with cluster.running():
        play(falkirk, cluster, UPDATE, "--dry-run", notes=int(versions == "0"))
        assert cluster.levels == BEFORE | {"replication_throttling": 2}
        play(falkirk, cluster, UPDATE)
        assert cluster.levels == UPDATED


@pytest.fixture(
    params=[
        "values",
        pytest.param("real", marks=pytest.mark.zookeeper),
    ]
)
def zookeeper_below(request):
    """Return what brokers have below them."""
    return ValuesOfZooKeeper() if request.param == "values" else RealZooKeeper(request.getfixturevalue("chroot"))


def test_brokers_on_zookeeper_have_the_basic_sessions(falkirk, zookeeper_below):
    with Kip584Brokers(SUPPORTED, FINALIZED, zookeeper=zookeeper_below).running() as cluster:
        play(falkirk, cluster, DESCRIBE)
        play(falkirk, cluster, UPGRADE_ALL, "--dry-run")
        assert cluster.levels == BEFORE
        play(falkirk, cluster, UPGRADE_ALL)
        assert cluster.levels == UPGRADED | {IBP_FEATURE: IBP}
        play(falkirk, cluster, DOWNGRADE_ALL)
        assert cluster.levels == BEFORE | {IBP_FEATURE: IBP}


def test_any_broker_on_zookeeper_leads_to_the_controller_by_kafkas_commands_too(falkirk):
    with Kip584Brokers(SUPPORTED, FINALIZED).running() as cluster:
        first, second = cluster.servers.split(",")
        raised = falkirk("features", "--bootstrap-server", first, "upgrade", "--feature", "group_coordinator=2")
        refused = falkirk("features", "--bootstrap-server", first, "upgrade", "--feature", "group_coordinator=3")
        deleted = falkirk("features", "--bootstrap-server", second, "disable", "--feature", "transaction_coordinator")
        told = [falkirk("features", "--bootstrap-server", one, "describe").stdout for one in (first, second)]
    assert (raised.exit_code, raised.stdout) == (0, "group_coordinator was upgraded to 2.\n")
    assert refused.exit_code == 1
    assert "Broker 1 only supports versions 1-2. Broker 2 only supports versions 1-2." in refused.stdout
    assert (deleted.exit_code, deleted.stdout) == (0, "transaction_coordinator was disabled.\n")
    assert told[0] == told[1]
    assert [line.split()[-1] for line in told[0].splitlines()] == ["3"] * 4


def test_brokers_on_zookeeper_have_the_advanced_session(falkirk, zookeeper_below):
    brokers = Kip584Brokers(SUPPORTED_FOR_UPDATE, FINALIZED_FOR_UPDATE, zookeeper=zookeeper_below)
    with brokers.running() as cluster:
        play(falkirk, cluster, UPDATE, "--dry-run")
        assert cluster.levels == BEFORE | {"replication_throttling": 2}
        play(falkirk, cluster, UPDATE)
        assert cluster.levels == UPDATED
