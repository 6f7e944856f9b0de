import pytest
from stopped_clusters import texts

from falkirk.pipeline.reports.verdicts import make_verdicts
from falkirk.versions.metadata_version import MetadataVersion

TARGET = MetadataVersion.parse("3.9-IV0")


def stopped(cluster="a", level=30, blockers=(), **fields):
    row = {
        "cluster": cluster,
        "from_level": level,
        "losses": {},
        "changes": {},
        "inaccessible": {},
        "blockers": [{"kind": "no_majority", "fields": "{}", "text": text} for text in blockers],
        "warnings": [],
        "dropped_features": ["group.version"],
        "lowered_features": [],
        "controller_quorum_voters": None,
    }
    return row | fields


def node(cluster="a", **fields):
    row = {"cluster": cluster, "role": "broker", "node_id": 3, "feature": "metadata.version", "level": 21}
    return row | {"min_supported": 7, "max_supported": 20} | fields


def client(cluster="a", **fields):
    row = {"cluster": cluster, "software_name": None, "client_id": "app", "principal": None, "api": "Fetch"}
    row["api_key"] = 1
    return row | {"api_version": 2, "is_blocker": True} | fields


def verdicts(*rows, nodes=(), clients=(), problems=None):
    return make_verdicts(TARGET, rows, nodes, clients, problems or {})


def test_a_cluster_that_loses_nothing_is_clear():
    [verdict] = verdicts(stopped())
    assert (verdict.word, verdict.direction, verdict.summary) == ("clear", "down", "loses nothing")
    assert verdict.as_json()["status"] == 0


def test_losses_are_counted_by_kind():
    [verdict] = verdicts(stopped(losses={"elr_to_isr": 2, "cidr_allow_acl": 1200}))
    assert (verdict.word, verdict.as_json()["status"]) == ("lossy", 3)
    assert verdict.summary == (
        "would lose: ACLs that allow address ranges (1,200); "
        "Partitions whose eligible leader replicas become in-sync (2)"
    )


def test_changes_that_cost_nothing_make_no_cluster_lossy():
    [verdict] = verdicts(stopped(changes={"elr_to_isr": 47}, inaccessible={"group_config": 2}))
    assert (verdict.word, verdict.as_json()["status"], verdict.summary) == ("clear", 0, "loses nothing")
    assert verdict.as_json()["changes"] == {"elr_to_isr": 47, "feature_dropped": 1, "group_config": 2}
    [up] = verdicts(stopped(level=19, changes={"elr_to_isr": 47}))
    assert up.as_json()["changes"] == {}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"nodes": [node()]}, "broker 3 supports metadata.version 3.3-IV3 to 3.8-IV0, and 3.9-IV0 is needed"),
        ({"nodes": [node(max_supported=None)]}, "broker 3 does not know metadata.version, and level 3.9-IV0 is needed"),
        ({"clients": [client()]}, "app stops working: it uses Fetch v2"),
    ],
)
def test_nodes_and_clients_block_at_once(given, reason):
    [verdict] = verdicts(stopped(losses={"elr_to_isr": 2}, blockers=["no majority"]), **given)
    assert (verdict.word, verdict.as_json()["status"]) == ("blocked", 1)
    assert texts(verdict.blockers) == ["no majority", reason]


def test_ghosts_and_clients_that_fall_back_are_in_nobodys_way():
    [verdict] = verdicts(stopped(), nodes=[node(feature=None)], clients=[client(is_blocker=False)])
    assert verdict.word == "clear"


def test_on_the_way_up_nothing_is_lost_and_nodes_alone_decide():
    plan = stopped(
        level=19, losses={"elr_to_isr": 1}, blockers=["metadata.version is 3.7-IV4, and 3.9-IV0 is above it"]
    )
    [verdict] = verdicts(plan)
    assert (verdict.word, verdict.direction, verdict.summary) == ("clear", "up", "can go up")
    assert verdict.dropped_features == []
    [verdict] = verdicts(plan, nodes=[node()])
    assert verdict.word == "blocked"


def test_a_cluster_at_the_target_is_there():
    [verdict] = verdicts(stopped(level=21))
    assert (verdict.direction, verdict.summary) == ("there", "is there already")


def test_many_reasons_are_shortened_in_the_summary_alone():
    [verdict] = verdicts(stopped(blockers=["1", "2", "3", "4", "5"]))
    assert verdict.summary == "blocked: 1; 2; 3; and 2 more"
    assert len(verdict.as_json()["blockers"]) == 5


def test_a_cluster_of_which_nothing_could_be_read_is_not_clear():
    found = verdicts(stopped("b"), problems={"a": 1, "b": 7})
    assert [(each.cluster, each.word) for each in found] == [("a", "blocked"), ("b", "clear")]
    assert found[0].summary == "blocked: 1 problem, and no metadata was read"


def test_clusters_of_which_only_requests_are_known_have_a_verdict_too():
    [verdict] = verdicts(clients=[client("logs-only")])
    assert (verdict.cluster, verdict.word, verdict.as_json()["from"]) == ("logs-only", "blocked", None)
