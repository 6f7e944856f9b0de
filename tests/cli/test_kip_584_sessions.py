"""KIP-584's own sessions with its tool: what falkirk prints is, space by space, what the KIP has."""

import pytest
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

BEFORE = {"group_coordinator": 1, "transaction_coordinator": 4}
UPGRADED = {"consumer_offsets_topic_schema": 1, "group_coordinator": 2, "transaction_coordinator": 5}
UPDATED = {"consumer_offsets_topic_schema": 1, "group_coordinator": 2, "transaction_coordinator": 3}


def play(falkirk, cluster, heading, *words, notes=0):
    session = kip_session(heading, cluster.servers)
    answer = falkirk("features", *session.words, *words)
    assert answer.stdout.splitlines() == list(session.lines)
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
