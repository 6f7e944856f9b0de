"""`falkirk features` on brokers as KIP-584 has them: what is asked, and what comes of it where not all is well."""

import json

import pytest
from feature_servers import FeatureServers, feature_answer
from feature_updates import a_controller, decide
from kip_584_servers import CONTROLLER, Kip584Servers

from falkirk.metadata.zookeeper.finalized_features import FinalizedRange
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.supported_range import SupportedRange

SUPPORTED = {"a": SupportedRange(1, 3), "b": SupportedRange(1, 2), "c": SupportedRange(1, 4)}


def servers(*, finalized=None, **options):
    levels = {"a": (1, 1), "c": (2, 4)} if finalized is None else finalized
    ranges = {name: FinalizedRange(*level) for name, level in levels.items()}
    return Kip584Servers(SUPPORTED, ranges, **options)


def asked(falkirk, cluster, *words):
    with cluster.running():
        return falkirk("features", "--bootstrap-server", cluster.servers, *words)


def marks(answer):
    return [tuple(line.split()[index] for index in (0, 2, 4, 6)) for line in answer.stdout.splitlines()]


# --- update


def test_only_what_was_refused_is_left_undone_and_the_command_fails(falkirk):
    cluster = servers()
    cluster.brokers[1]["b"] = SupportedRange(1, 1)
    answer = asked(falkirk, cluster, "update", "--upgrade", "a:3,b:2", "--downgrade", "c:1")
    assert (answer.exit_code, answer.stderr) == (1, "2 out of 3 operation(s) failed.\n")
    assert cluster.levels == {"a": 3, "c": 4}
    raised, added, lowered = answer.stdout.splitlines()
    assert raised.endswith("Result: OK")
    assert "Broker 1 only supports versions 1." in added
    assert "lower than the finalized minVersionLevel:2" in lowered
    assert marks(answer) == [("[Upgrade]", "a", "1", "3"), ("[Add]", "b", "-", "2"), ("[Downgrade]", "c", "4", "1")]


def test_the_same_is_told_as_a_document(falkirk):
    answer = asked(falkirk, servers(), "update", "--upgrade", "a:9", "--delete", "c", "--json")
    document = json.loads(answer.stdout)
    assert (answer.exit_code, document["command"], document["dry_run"], document["note"]) == (1, "update", False, None)
    refused, deleted = document["features"]
    assert refused["error"]["name"] == "FEATURE_UPDATE_FAILED"
    assert (refused["change"], refused["before"], refused["level"]) == ("UPGRADE", 1, 9)
    assert deleted == {
        "feature": "c",
        "level": 0,
        "upgrade_type": "SAFE_DOWNGRADE",
        "error": None,
        "change": "DELETE",
        "before": 4,
    }


def test_an_upgrade_lowers_a_level_only_if_that_is_allowed(falkirk):
    refused = asked(falkirk, servers(), "update", "--upgrade", "a:2,c:3")
    assert (refused.exit_code, marks(refused)[1][0]) == (1, "[Upgrade]")
    cluster = servers()
    allowed = asked(falkirk, cluster, "update", "--upgrade", "a:2,c:3", "--allow-downgrade")
    assert (allowed.exit_code, cluster.levels) == (0, {"a": 2, "c": 3})
    assert [mark for mark, *_ in marks(allowed)] == ["[Upgrade]", "[Downgrade]"]


def test_wrong_usage_is_said_before_anybody_is_asked(falkirk):
    answer = falkirk("features", "--bootstrap-server", "127.0.0.1:1", "update", "--upgrade", "a")
    assert (answer.exit_code, answer.stderr) == (2, "--upgrade: 'a' is not of the form feature:level\n")


def test_on_a_quorum_metadata_version_is_never_deleted(falkirk):
    words = ("update", "--delete", "metadata.version")
    response = decide(a_controller(), ("metadata.version", 0, UpgradeType.SAFE_DOWNGRADE)).result().response
    cluster = FeatureServers(response)
    cluster.features = [feature_answer(5, {"metadata.version": (7, 30)}, {"metadata.version": 30})]
    answer = asked(falkirk, cluster, *words)
    assert answer.exit_code == 1
    assert marks(answer) == [("[Delete]", "metadata.version", "30", "-")]
    assert not answer.stdout.endswith("Result: OK\n")


# --- who is asked


def test_a_broker_that_lags_behind_does_not_make_up_the_existing_levels(falkirk):
    cluster = servers()
    asked(falkirk, cluster, "update", "--upgrade", "a:2")
    cluster.lag = {1: 1}
    answer = asked(falkirk, cluster, "update", "--upgrade", "a:3")
    assert marks(answer) == [("[Upgrade]", "a", "2", "3")]
    assert answer.exit_code == 0


def test_updates_go_to_the_controller_alone(falkirk):
    cluster = servers()
    asked(falkirk, cluster, "upgrade-all")
    assert [node_id for node_id, _, _ in cluster.asked] == [CONTROLLER]


# --- upgrade-all, downgrade-all


def test_where_nothing_is_to_be_changed_that_is_said(falkirk):
    cluster = servers(finalized={"a": (1, 3), "b": (1, 2), "c": (2, 4)})
    up = asked(falkirk, cluster, "--upgrade-all")
    down = asked(falkirk, cluster, "--downgrade-all", "--allow-downgrade")
    assert up.stdout == "Nothing to change: no feature is below the levels that the node supports.\n"
    assert down.stdout == "Nothing to change: no feature is above the levels that the node supports.\n"
    assert cluster.asked == []


def test_downgrade_all_deletes_what_neither_release_nor_levels_know(falkirk):
    cluster = servers()
    answer = asked(falkirk, cluster, "downgrade-all", "--release", "3.8", "--levels", "c:3")
    assert (answer.exit_code, cluster.levels) == (0, {"c": 3})
    assert marks(answer) == [("[Delete]", "a", "1", "-"), ("[Downgrade]", "c", "4", "3")]


# --- describe


def test_the_deprecated_levels_are_told_by_the_kips_table_alone(falkirk):
    kip = asked(falkirk, servers(), "describe", "--kip-584")
    assert [line.split()[1::2] for line in kip.stdout.splitlines()] == [
        ["a", "1", "3", "1", "1", "1"],
        ["b", "1", "2", "-", "-", "1"],
        ["c", "1", "4", "2", "4", "1"],
    ]
    assert json.loads(asked(falkirk, servers(), "describe", "--kip-584", "--json").stdout)["features"][2] == {
        "feature": "c",
        "supported_min": 1,
        "supported_max": 4,
        "finalized_min": 2,
        "finalized_max": 4,
    }
    kafka = asked(falkirk, servers(), "--describe")
    assert kafka.stdout == asked(falkirk, servers(), "describe").stdout
    assert "FinalizedVersionLevel" in kafka.stdout


# --- dry runs where the controller has none


@pytest.mark.parametrize("update", [("a:3", 0), ("a:4", 1), ("a:1", 1), ("b:2", 1)])
def test_a_dry_run_here_says_what_the_controller_would(falkirk, update):
    levels, code = update
    told = []
    for versions in ("0", "0-1"):
        cluster = servers(versions=versions)
        cluster.brokers[1]["b"] = SupportedRange(1, 1)
        told.append(asked(falkirk, cluster, "update", "--upgrade", levels, "--delete", "c", "--dry-run"))
        assert cluster.levels == {"a": 1, "c": 4}
        assert len(cluster.asked) == (versions != "0")
    here, there = told
    assert (here.exit_code, here.stdout) == (there.exit_code, there.stdout)
    assert here.exit_code == code
    note, *rest = here.stderr.splitlines()
    assert "has version 0 of UpdateFeatures alone" in note
    assert note.endswith("by the answers of these brokers: 1, 2")
    assert rest == there.stderr.splitlines()


def test_who_decided_on_a_dry_run_stands_in_the_document(falkirk):
    for versions, is_here in (("0", True), ("0-1", False)):
        answer = asked(falkirk, servers(versions=versions), "upgrade-all", "--dry-run", "--json")
        assert (json.loads(answer.stdout)["note"] is not None) == is_here


def test_a_dry_run_here_knows_that_features_are_disabled(falkirk):
    cluster = servers(versions="0")
    cluster.disable()
    answer = asked(falkirk, cluster, "update", "--upgrade", "a:3", "--dry-run")
    assert (answer.exit_code, cluster.asked) == (1, [])
    assert answer.stdout.endswith("Result: Feature versioning system is disabled.\n")


def test_a_broker_that_cannot_be_asked_leaves_a_dry_run_here_undecided(falkirk):
    cluster = servers(versions="0")
    cluster.unreachable = {7}
    answer = asked(falkirk, cluster, "update", "--upgrade", "a:3", "--dry-run")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert "127.0.0.1:1: cannot connect" in answer.stderr


def test_an_unsafe_downgrade_is_not_tried_where_the_controller_knows_none(falkirk):
    answer = asked(falkirk, servers(versions="0"), "downgrade-all", "--levels", "c:3", "--unsafe", "--dry-run")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert "an UNSAFE downgrade needs version 1 of UpdateFeatures" in answer.stderr
