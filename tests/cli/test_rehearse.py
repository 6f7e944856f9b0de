"""`falkirk rehearse` on directories of real clusters: go, no-go, and what would be lost."""

import json
from pathlib import Path

import pytest
from archives import unpack_cluster
from made_clusters import append_metadata

from falkirk.protocol.messages import AccessControlEntryRecord


@pytest.fixture
def directory(tmp_path):
    """Directories of a real cluster, by the name of its archive."""

    def unpack(name: str) -> str:
        return str(unpack_cluster(name, tmp_path / name).parent)

    return unpack


@pytest.mark.slow
def test_a_cluster_may_go_where_nothing_is_lost(falkirk, directory):
    answer = falkirk("rehearse", directory("4.3.1"), "--to", "3.9", "--seeds", "2")
    assert answer.exit_code == 0
    assert answer.stdout.splitlines()[:4] == [
        "cluster hfgjSfLshYrZXYqfd36Qxg at 4.3-IV0, to 3.9.1 at 3.9-IV0",
        "  node 1: controller and broker, runs as 4.3.1",
        *(line for line in answer.stdout.splitlines() if line.startswith("seed ")),
    ]
    assert answer.stdout.count("passed") == 2
    assert (
        "config share.auto.offset.reset of group sg-1: releases before 4.0 do not know group configs" in answer.stdout
    )
    assert answer.stdout.splitlines()[-1] == "go"


@pytest.mark.slow
def test_a_cluster_may_go_up(falkirk, directory):
    answer = falkirk("rehearse", directory("3.9.1"), "--to", "4.4", "--seeds", "1", "--json")
    assert answer.exit_code == 0
    document = json.loads(answer.stdout)
    assert (document["go"], document["reasons"], document["losses"]) == (True, [], [])
    assert document["runs"][0]["marks"]["metadata.version raised"] == 1


@pytest.mark.slow
def test_a_release_without_dynamic_voters_is_no_place_for_a_cluster_that_has_them(falkirk, directory):
    answer = falkirk("rehearse", directory("4.3.1"), "--to", "3.7")
    assert answer.exit_code == 1
    assert "kraft.version 1 (it needs metadata.version 3.9-IV0)." in answer.stdout.splitlines()[-1]
    assert answer.stdout.count("seed ") == 1, "what is refused for good is not played again"


@pytest.mark.slow
@pytest.mark.parametrize(("words", "exit_code", "verdict"), [((), 3, "data would be lost"), (("--unsafe",), 0, "go")])
def test_what_would_be_lost_is_listed_and_has_a_status_of_its_own(falkirk, directory, words, exit_code, verdict):
    source = directory("4.4.0")
    acl = AccessControlEntryRecord(bytes(15) + b"1", 2, "logs", 3, "User:ann", "10.0.0.0/8", 3, 2)
    append_metadata(next(Path(source).rglob("__cluster_metadata-0")), [(acl, 0)])
    answer = falkirk("rehearse", source, "--to", "4.3", "--seeds", "1", "--json", *words)
    assert answer.exit_code == exit_code
    document = json.loads(answer.stdout)
    assert (document["verdict"], document["reasons"]) == (verdict, [])
    assert [loss["kind"] for loss in document["losses"]] == ["cidr_deny_acl"]


@pytest.mark.slow
def test_what_is_lost_only_while_brokers_come_up_is_waited_for(falkirk, directory):
    """The directories are of a cluster whose brokers left partitions without an in-sync replica."""
    answer = falkirk("rehearse", directory("elr-4.3.1"), "--to", "3.9", "--seeds", "1", "--json")
    assert answer.exit_code == 0
    document = json.loads(answer.stdout)
    assert document["losses"] == []
    assert [(node["node_id"], node["controller"], node["broker"]) for node in document["nodes"]] == [
        (1, True, True),
        (2, False, True),
        (3, False, True),
    ]


def test_an_unknown_release_is_refused(falkirk, directory):
    answer = falkirk("rehearse", directory("4.3.1-formatted"), "--to", "5.9")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr.startswith("unknown release '5.9'")
