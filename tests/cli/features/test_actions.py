"""`falkirk features describe`, `upgrade`, ... against scripted servers; tests/interop asks real ones."""

import json

import pytest
from feature_servers import FeatureServers, feature_answer
from feature_updates import TOGETHER, a_controller, decide

from falkirk.cli.features.changes_view import FeatureChanges
from falkirk.client.feature_update import FeatureUpdate, FeatureUpdateFailure, UpdateFeaturesResult
from falkirk.metadata.controller.features.coordinator_use import CoordinatorUse, GroupInUse
from falkirk.operations.feature_changes import UpdateOutcome
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import (
    FeatureUpdateDetails,
    allows_aborts,
    allows_forced_snapshot,
    encode_details,
)
from falkirk.protocol.messages import TopicRecord, UpdateFeaturesResponse
from falkirk.protocol.metadata_progress_tags import MetadataProgress
from falkirk.protocol.upgrade_type import UpgradeType

DONE = UpdateFeaturesResponse()
SUPPORTED = {"metadata.version": (7, 30), "group.version": (0, 1)}
FINALIZED = {"metadata.version": 30, "group.version": 1}
LOSS = {"kind": "scram_credential", "key": "user alice", "detail": "user alice: SCRAM is gone"}


def refused(*, losses=(), blockers=(), code=ErrorCode.INVALID_UPDATE_VERSION):
    details = FeatureUpdateDetails(losses=list(losses), blockers=list(blockers))
    return UpdateFeaturesResponse(error_code=code, error_message="no", unknown_tagged_fields=encode_details(details))


def asked(falkirk, cluster, *words):
    with cluster.running():
        return falkirk("features", "--bootstrap-server", cluster.servers, *words)


def described(finalized=FINALIZED, epoch=5, supported=SUPPORTED):
    cluster = FeatureServers(DONE)
    cluster.features = [feature_answer(epoch, supported, finalized)]
    return cluster


# --- describe


def test_features_are_described_in_columns_or_as_a_document(falkirk):
    text = asked(falkirk, described(), "describe")
    assert (text.exit_code, text.stderr) == (0, "")
    assert [line.split()[1::2] for line in text.stdout.splitlines()] == [
        ["group.version", "0", "1", "1", "5"],
        ["metadata.version", "3.3-IV3", "4.3-IV0", "4.3-IV0", "5"],
    ]
    document = json.loads(asked(falkirk, described(), "describe", "--json").stdout)
    assert document["epoch"] == 5
    assert document["features"][1]["finalized_name"] == "4.3-IV0"


def test_a_cluster_without_finalized_features_has_no_epoch_and_level_zero(falkirk):
    answer = asked(falkirk, described({}, epoch=-1), "describe", "--release", "4.2")
    first, second = answer.stdout.splitlines()
    assert first == (
        "Feature: group.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: 0\tEpoch: -"
    )
    assert second.endswith("\tFinalizedVersionLevel: UNKNOWN 0\tEpoch: -")
    document = json.loads(asked(falkirk, described({}, epoch=-1), "describe", "--json").stdout)
    assert (document["epoch"], [one["finalized"] for one in document["features"]]) == (None, [None, None])


def test_one_node_is_described_by_its_id(falkirk):
    assert asked(falkirk, described(), "describe", "--node-id", "2").exit_code == 0
    nobody = asked(falkirk, described(), "describe", "--node-id", "9")
    assert (nobody.exit_code, nobody.stderr.partition(": ")[2]) == (1, "the cluster has no node 9\n")
    assert asked(falkirk, described(), "describe", "--node-id", "-1").stderr == (
        "Invalid node id -1: must be non-negative.\n"
    )
    assert asked(falkirk, described(), "describe", "--node-id", "2", "--release", "4.1").exit_code == 1


# --- upgrade, downgrade, disable


@pytest.mark.parametrize(
    ("words", "line", "upgrade_type"),
    [
        (("upgrade",), "was upgraded to 1.", UpgradeType.UPGRADE),
        (("upgrade", "--dry-run"), "can be upgraded to 1.", UpgradeType.UPGRADE),
        (("downgrade",), "was downgraded to 1.", UpgradeType.SAFE_DOWNGRADE),
        (("downgrade", "--unsafe"), "was downgraded to 1.", UpgradeType.UNSAFE_DOWNGRADE),
    ],
)
def test_a_change_is_said_in_kafkas_words(falkirk, words, line, upgrade_type):
    cluster = FeatureServers(DONE)
    answer = asked(falkirk, cluster, *words, "--feature", "group.version=1")
    assert (answer.exit_code, answer.stdout, answer.stderr) == (0, f"group.version {line}\n", "")
    [(_, _, request)] = cluster.asked
    assert [(each.feature, each.upgrade_type) for each in request.feature_updates] == [("group.version", upgrade_type)]
    assert request.validate_only == ("--dry-run" in words)


def test_disabling_is_a_downgrade_to_zero(falkirk):
    cluster = FeatureServers(DONE)
    answer = asked(falkirk, cluster, "disable", "--feature", "a", "--feature", "b", "--unsafe")
    assert answer.stdout == "a was disabled.\nb was disabled.\n"
    [(_, _, request)] = cluster.asked
    assert {each.max_version_level for each in request.feature_updates} == {0}
    assert {each.upgrade_type for each in request.feature_updates} == {UpgradeType.UNSAFE_DOWNGRADE}


def test_all_levels_of_a_release_version_are_asked_for_but_none_is_upgraded_to_zero(falkirk):
    up, down = FeatureServers(DONE), FeatureServers(DONE)
    asked(falkirk, up, "upgrade", "--release-version", "3.9", "--release", "4.0")
    asked(falkirk, down, "downgrade", "--release-version", "3.9", "--release", "4.0")
    [(_, _, request)] = up.asked
    levels = {each.feature: each.max_version_level for each in request.feature_updates}
    assert levels == {"metadata.version": 21, "kraft.version": 1}
    [(_, _, request)] = down.asked
    assert {each.feature: each.max_version_level for each in request.feature_updates} == levels | {
        "transaction.version": 0,
        "group.version": 0,
        "eligible.leader.replicas.version": 0,
    }


def test_consent_to_a_forced_snapshot_is_sent_only_if_it_is_given(falkirk):
    for words, consent in (((), False), (("--allow-forced-snapshot",), True)):
        cluster = FeatureServers(DONE)
        asked(falkirk, cluster, "downgrade", "--feature", "group.version=0", *words)
        [(_, _, request)] = cluster.asked
        assert allows_forced_snapshot(request.unknown_tagged_fields) == consent


def test_consent_to_abort_transactions_is_sent_only_if_it_is_given(falkirk):
    for words, consent in (((), False), (("--abort-transactions",), True)):
        for command in (("downgrade", "--feature", "transaction.version=1"), ("disable", "--feature", "a")):
            cluster = FeatureServers(DONE)
            asked(falkirk, cluster, *command, "--unsafe", *words)
            [(_, _, request)] = cluster.asked
            assert allows_aborts(request.unknown_tagged_fields) == consent


def test_transactions_are_not_aborted_by_a_safe_downgrade(falkirk):
    cluster = FeatureServers(DONE)
    answer = asked(falkirk, cluster, "downgrade", "--feature", "transaction.version=1", "--abort-transactions")
    assert answer.exit_code == 2
    assert "--abort-transactions needs --unsafe" in answer.stderr
    assert cluster.asked == []


# --- refusals


def test_a_refusal_for_losses_alone_ends_with_3_and_has_the_kips_name(falkirk):
    words = ("downgrade", "--feature", "metadata.version=29")
    text = asked(falkirk, FeatureServers(refused(losses=[LOSS])), *words)
    assert (text.exit_code, text.stdout, text.stderr) == (
        3,
        "Could not downgrade metadata.version to 29. no\n",
        "1 out of 1 operation(s) failed.\n",
    )
    answer = asked(falkirk, FeatureServers(refused(losses=[LOSS])), *words, "--json")
    document = json.loads(answer.stdout)
    assert answer.exit_code == 3
    assert document["features"][0]["error"] == {"code": 95, "name": "UNSAFE_FEATURE_DOWNGRADE", "message": "no"}
    assert document["losses"] == [LOSS]


def test_groups_with_members_refuse_to_lower_group_version_and_unsafe_says_that_they_are_drained(falkirk):
    use = CoordinatorUse(groups=(GroupInUse("g", "consumer", 2, 5, ("m-1", "m-2"), 7),))
    controller = a_controller(
        features={"group.version": 1}, records=[TopicRecord("__consumer_offsets", b"__consumer_offse")]
    )
    detail = (
        "group g is a consumer group with 2 members (m-1, m-2) that must join again by the classic protocol (its 7 "
        "committed offsets stay)"
    )
    reason = (
        f"{TOGETHER}Invalid update version 0 for feature group.version. Refusing to perform the requested downgrade "
        f"because it would cut off what is in use: {detail}"
    )
    answers = {}
    for type_, words in ((UpgradeType.SAFE_DOWNGRADE, ()), (UpgradeType.UNSAFE_DOWNGRADE, ("--unsafe",))):
        decided = decide(controller, ("group.version", 0, type_), use=use).result().response
        answers[type_] = asked(falkirk, FeatureServers(decided), "disable", "--feature", "group.version", *words)
    safe, unsafe = answers.values()
    assert (safe.exit_code, safe.stdout) == (3, f"Could not disable group.version. {reason}\n")
    assert (unsafe.exit_code, unsafe.stdout) == (0, f"group.version was disabled.\n  drained: {detail}\n")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refused(losses=[LOSS], blockers=["broker 1"]), ()),
        (refused(), ()),
        (refused(losses=[LOSS]), ("--unsafe",)),
        (refused(losses=[LOSS], code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED), ()),
        (UpdateFeaturesResponse(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message="no"), ()),
    ],
    ids=["blocked as well", "nothing lost", "unsafe", "no permission", "real Kafka"],
)
def test_any_other_refusal_ends_with_1_and_its_own_name(falkirk, answer, words):
    ended = asked(falkirk, FeatureServers(answer), "downgrade", "--feature", "m=1", *words, "--json")
    document = json.loads(ended.stdout)
    assert (ended.exit_code, ended.stderr) == (1, "1 out of 1 operation(s) failed.\n")
    assert document["features"][0]["error"]["name"] == ErrorCode(answer.error_code).name
    assert (document["losses"] is None) == (answer.unknown_tagged_fields == ())


def test_what_an_unsafe_downgrade_has_lost_is_told_after_kafkas_lines(falkirk):
    details = FeatureUpdateDetails(losses=[LOSS], inaccessible=[LOSS | {"detail": "b"}], undo_bundle="u.zip")
    response = UpdateFeaturesResponse(unknown_tagged_fields=encode_details(details))
    answer = asked(falkirk, FeatureServers(response), "downgrade", "--unsafe", "--feature", "m=1")
    assert answer.stdout.splitlines() == [
        "m was downgraded to 1.",
        "  lost: user alice: SCRAM is gone",
        "  inaccessible: b",
        "  undo bundle: u.zip",
    ]


NOBODY = ("--bootstrap-server", "127.0.0.1:1")


@pytest.mark.parametrize(
    "words",
    [
        ("upgrade",),
        ("disable",),
        ("upgrade", "--feature", "a"),
        ("upgrade", "--feature", "a=0"),
        ("upgrade", "--feature", "a=0", "--release", "3.7"),
        ("downgrade", "--feature", "a=-1"),
        ("downgrade", "--feature", "=1"),
        ("downgrade", "--feature", "a=1", "--feature", "a=2"),
        ("disable", "--feature", "a", "--feature", "a"),
        ("upgrade", "--metadata", "3.9", "--feature", "metadata.version=3"),
        ("upgrade", "--release-version", "4.0", "--feature", "a=1"),
        ("upgrade", "--metadata", "2.8", "--release", "3.7"),
        ("upgrade", "--release-version", "9.9"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(falkirk, words):
    answer = falkirk("features", *NOBODY, *words)
    assert answer.exit_code == 1
    assert len(answer.stderr.splitlines()) == 1
    assert "cannot connect" not in answer.stderr


@pytest.mark.parametrize("words", [("describe",), ("upgrade", "--feature", "a=1")])
def test_a_server_that_is_not_there_is_named(falkirk, words):
    answer = falkirk("features", *NOBODY, *words)
    assert (answer.exit_code, answer.stderr) == (1, "127.0.0.1:1: cannot connect: Connection refused\n")


@pytest.mark.parametrize(
    "words",
    [
        ("describe",),
        (*NOBODY, "describe", "extra"),
        (*NOBODY, "--bootstrap-controller", "127.0.0.1:1", "describe"),
        (*NOBODY, "describe", *NOBODY),
        (*NOBODY, "upgrade", "--unsafe"),
    ],
)
def test_a_wrong_command_line_ends_with_2_or_as_the_named_releases_tool(falkirk, words):
    answer = falkirk("features", *words)
    assert (answer.exit_code, len(answer.stderr.splitlines())) == (2, 1)
    at = next(at for at, word in enumerate(words) if word in ("describe", "upgrade")) + 1
    named = falkirk("features", *words[:at], "--release", "4.2", *words[at:])
    assert (named.exit_code, len(named.stderr.splitlines())) == (1, 1)


def test_release_3_x_has_no_release_version(falkirk):
    answer = falkirk("features", *NOBODY, "upgrade", "--release-version", "3.9", "--release", "3.9")
    assert (answer.exit_code, answer.stderr) == (1, "Kafka 3.9.1 has no --release-version: it came with 4.0\n")


# --- all features of a release


def test_everything_is_upgraded_to_what_the_node_supports_at_most(falkirk):
    cluster = described({"metadata.version": 29, "group.version": 1})
    answer = asked(falkirk, cluster, "upgrade-all")
    [(_, _, request)] = cluster.asked
    levels = {each.feature: each.max_version_level for each in request.feature_updates}
    assert levels == {
        "metadata.version": 30,
        "transaction.version": 2,
        "eligible.leader.replicas.version": 1,
        "share.version": 1,
        "streams.version": 1,
    }
    added, raised = answer.stdout.splitlines()[:2]
    assert added == (
        "    [Add] Feature: eligible.leader.replicas.version       ExistingFinalizedMaxVersion: -  "
        "NewFinalizedMaxVersion: 1       Result: OK"
    )
    assert raised.startswith("[Upgrade] Feature: metadata.version      ExistingFinalizedMaxVersion: 29  ")


def test_a_release_lacks_features_that_are_deleted_on_the_way_to_it(falkirk):
    cluster = described(FINALIZED | {"kraft.version": 1})
    answer = asked(falkirk, cluster, "downgrade-all", "--release", "3.9", "--dry-run")
    [(_, _, request)] = cluster.asked
    assert {each.feature: each.max_version_level for each in request.feature_updates} == {
        "metadata.version": 21,
        "group.version": 0,
    }
    assert [line.partition("      ")[0] for line in answer.stdout.splitlines()] == [
        "   [Delete] Feature: group.version",
        "[Downgrade] Feature: metadata.version",
    ]


def test_kraft_version_is_asked_to_go_where_the_release_lacks_it(falkirk):
    cluster = described(FINALIZED | {"kraft.version": 1})
    asked(falkirk, cluster, "downgrade-all", "--release", "3.7")
    [(_, _, request)] = cluster.asked
    assert ("kraft.version", 0) in {(each.feature, each.max_version_level) for each in request.feature_updates}


def test_where_all_levels_are_there_nothing_is_asked_for(falkirk):
    cluster = described({"metadata.version": 21})
    answer = asked(falkirk, cluster, "downgrade-all", "--release", "3.9")
    assert (answer.exit_code, cluster.asked) == (0, [])
    assert answer.stdout == "Nothing to change: no feature is above the levels of release 3.9.1.\n"
    document = json.loads(asked(falkirk, described({}), "downgrade-all", "--json").stdout)
    assert document["features"] == []


def test_a_node_of_an_unknown_release_needs_one_to_be_named(falkirk):
    cluster = described(supported={"metadata.version": (98, 99)})
    answer = asked(falkirk, cluster, "upgrade-all")
    assert (answer.exit_code, answer.stderr.partition(":")[2]) == (1, " name one with --release\n")


# --- waiting

LOWERED = {"metadata.version": 21}


def waiting(offsets, levels):
    cluster = FeatureServers(DONE)
    cluster.offsets = offsets
    cluster.features = [feature_answer(5, SUPPORTED, {"metadata.version": level}) for level in levels]
    return cluster


def waited(falkirk, cluster, *words):
    return asked(falkirk, cluster, "downgrade", "--feature", "metadata.version=21", "--wait", *words)


def test_waiting_ends_when_every_node_has_the_change_and_says_what_may_be_started(falkirk, monkeypatch):
    monkeypatch.setattr("falkirk.operations.downgrade_wait._POLL_S", 0.01)
    answer = waited(falkirk, waiting([(10, 10), (10, 4), (10, 10)], [30, 30, 21]))
    assert (answer.exit_code, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert lines[:4] == [
        "metadata.version was downgraded to 21.",
        "Every node has the new snapshot and nothing from before it, up to offset 10: 1, 2.",
        "  node 1 is judged by the end of its metadata log: it does not report its snapshots",
        "  node 2 is judged by the end of its metadata log: it does not report its snapshots",
    ]
    assert lines[4].startswith("May be started now, one node after the other: 3.9.1, 4.0.0")
    assert [line.partition(":")[0] for line in lines[5:]] == ["  node 1", "  node 2"]
    assert all("bootstrap.checkpoint" in line for line in lines[5:])


@pytest.mark.parametrize(
    ("offsets", "levels", "reason"),
    [
        ([(10, 4)], [21], "observer 2 has the metadata log up to 4, not up to 10"),
        ([(4, 10)], [21], "voter 1 has the metadata log up to 4, not up to 10"),
        ([(10, 10)], [30], "node 1 tells metadata.version 30, not 21"),
    ],
)
def test_what_a_node_lacks_when_the_time_is_over_is_said(falkirk, offsets, levels, reason):
    answer = waited(falkirk, waiting(offsets, levels), "--timeout", "0")
    assert answer.exit_code == 1
    assert reason in answer.stderr.splitlines()
    document = waited(falkirk, waiting(offsets, levels), "--timeout", "0", "--json")
    assert reason in json.loads(document.stdout)["waited"]["missing"]


def progress(snapshot, level, *, start=None, applied=10, holds_lowering=False):
    return MetadataProgress(
        snapshot_end_offset=snapshot,
        snapshot_metadata_version=level,
        log_start_offset=(snapshot or 0) if start is None else start,
        applied_offset=applied,
        holds_lowering=holds_lowering,
    )


DONE_WITH_IT = progress(9, 21)
BEFORE_THE_CHANGE = progress(5, 30, applied=8)
BEFORE_THE_SNAPSHOT = progress(5, 30, holds_lowering=True)
BEFORE_CLEANING = progress(9, 21, start=5, holds_lowering=True)


def of_ours(**nodes):
    """Make nodes of ours whose logs have ended behind the change from the first: that alone must not do."""
    cluster = waiting([(10, 10)], [21])
    cluster.progress = {int(name.removeprefix("node")): list(script) for name, script in nodes.items()}
    return cluster


def test_waiting_for_nodes_of_ours_ends_when_each_has_its_snapshot_and_a_log_without_the_change(falkirk, monkeypatch):
    monkeypatch.setattr("falkirk.operations.downgrade_wait._POLL_S", 0.01)
    steps = (BEFORE_THE_CHANGE, BEFORE_THE_SNAPSHOT, BEFORE_CLEANING, DONE_WITH_IT)
    cluster = of_ours(node1=[DONE_WITH_IT], node2=steps)
    answer = waited(falkirk, cluster)
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert cluster.progress[2] == [DONE_WITH_IT]
    lines = answer.stdout.splitlines()
    assert lines[1] == "Every node has the new snapshot and nothing from before it, up to offset 10: 1, 2."
    assert lines[2].startswith("May be started now")


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (BEFORE_THE_CHANGE, "node 2 has applied the metadata log up to 8, not up to 10"),
        (BEFORE_THE_SNAPSHOT, "node 2 has no snapshot at the new level yet: its newest one, up to 5, is at 30"),
        (BEFORE_CLEANING, "node 2 has not cleaned its log through the change yet: it begins at 5"),
        (
            progress(None, None, holds_lowering=True),
            "node 2 has not cleaned its log through the change yet: it begins at 0",
        ),
    ],
)
def test_a_node_of_ours_without_the_snapshot_is_waited_for_though_its_log_ends_behind_the_change(falkirk, told, reason):
    answer = waited(falkirk, of_ours(node1=[DONE_WITH_IT], node2=[told]), "--timeout", "0")
    assert answer.exit_code == 1
    assert answer.stderr.splitlines()[1:] == [reason]


def test_other_features_need_no_snapshot(falkirk):
    cluster = of_ours(node1=[BEFORE_CLEANING], node2=[BEFORE_CLEANING])
    cluster.features = [feature_answer(5, SUPPORTED, {"metadata.version": 30})]
    answer = asked(falkirk, cluster, "downgrade", "--feature", "group.version=0", "--wait", "--timeout", "0")
    assert answer.exit_code == 0
    assert "Every node has the change, up to offset 10: 1, 2." in answer.stdout.splitlines()


def test_controllers_are_asked_at_the_addresses_that_brokers_tell(falkirk):
    told = {"node1": [DONE_WITH_IT], "node2": [DONE_WITH_IT]}
    late = of_ours(**told, node3=[BEFORE_THE_SNAPSHOT])
    late.voters = {1, 3}
    answer = waited(falkirk, late, "--timeout", "0")
    assert answer.exit_code == 1
    assert answer.stderr.splitlines()[1].startswith("node 3 has no snapshot at the new level yet")
    ready = of_ours(**told, node3=[DONE_WITH_IT])
    ready.voters = {1, 3}
    document = json.loads(waited(falkirk, ready, "--timeout", "0", "--json").stdout)["waited"]
    assert (document["nodes"], document["by_log_end"]) == ([1, 2, 3], {})


def test_a_controller_that_cannot_be_reached_is_judged_by_its_log_end_and_that_is_said(falkirk):
    for end, code in ((10, 0), (4, 1)):
        cluster = of_ours(node1=[DONE_WITH_IT], node2=[DONE_WITH_IT])
        cluster.voters, cluster.unreachable = {1, 3}, {3}
        cluster.offsets = [(end, 10)]
        answer = waited(falkirk, cluster, "--timeout", "0")
        assert answer.exit_code == code
        if code:
            assert answer.stderr.splitlines()[1:] == ["voter 3 has the metadata log up to 4, not up to 10"]
        else:
            assert (
                "  node 3 is judged by the end of its metadata log: it does not answer: 127.0.0.1:1: cannot connect: "
                "Connection refused" in answer.stdout.splitlines()
            )


def test_who_has_nothing_left_to_change_may_still_wait(falkirk, monkeypatch):
    monkeypatch.setattr("falkirk.operations.downgrade_wait._POLL_S", 0.01)
    cluster = of_ours(node1=[DONE_WITH_IT], node2=(BEFORE_CLEANING, DONE_WITH_IT))
    answer = asked(falkirk, cluster, "downgrade-all", "--release", "3.9", "--wait")
    assert (answer.exit_code, answer.stderr, cluster.asked) == (0, "", [])
    assert answer.stdout.startswith("Nothing to change: no feature is above the levels of release 3.9.1.\nEvery node ")
    late = of_ours(node1=[DONE_WITH_IT], node2=[BEFORE_CLEANING])
    answer = asked(falkirk, late, "downgrade-all", "--release", "3.9", "--wait", "--timeout", "0", "--json")
    assert answer.exit_code == 1
    assert "node 2 has not cleaned its log" in json.loads(answer.stdout)["waited"]["missing"][0]


def test_ghosts_are_named_with_the_way_to_take_them_out_and_not_waited_for(falkirk):
    cluster = of_ours(node1=[DONE_WITH_IT], node2=[DONE_WITH_IT])
    cluster.fenced = {7}
    answer = waited(falkirk, cluster, "--timeout", "0")
    assert answer.exit_code == 0
    *_, last = answer.stdout.splitlines()
    assert last.startswith("  broker 7 is registered, but not alive")
    assert last.endswith("kafka-cluster unregister --id 7")
    document = json.loads(waited(falkirk, cluster, "--timeout", "0", "--json").stdout)["waited"]
    assert (document["nodes"], document["ghosts"]) == ([1, 2], [7])


def test_only_a_lowered_metadata_version_leaves_files_to_see_to(falkirk):
    cluster = FeatureServers(DONE)
    cluster.features = [feature_answer(5, SUPPORTED, {"metadata.version": 30})]
    answer = asked(falkirk, cluster, "downgrade", "--feature", "group.version=0", "--wait")
    assert answer.exit_code == 0
    assert "bootstrap.checkpoint" not in answer.stdout


def test_nothing_is_waited_for_after_a_dry_run_or_a_refusal(falkirk):
    dry = waited(falkirk, waiting([(10, 4)], [30]), "--dry-run")
    assert dry.stdout == "metadata.version can be downgraded to 21.\n"
    cluster = waiting([(10, 4)], [30])
    cluster.answers = [refused()]
    assert waited(falkirk, cluster).exit_code == 1


# --- refusals of real Kafka's controllers


def test_a_dry_run_that_a_server_without_ledgers_refuses_says_what_falkirk_could_do(falkirk):
    cluster = described()
    cluster.answers = [UpdateFeaturesResponse(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message="It refuses.")]
    answer = asked(falkirk, cluster, "downgrade", "--metadata", "3.9", "--dry-run")
    assert answer.exit_code == 1
    assert "What would be lost is not known: " in answer.stderr
    assert "falkirk can lower it: `falkirk lift check --to 3.9-IV0` shows" in answer.stderr


def test_a_ledger_of_our_own_is_printed_with_one_reason_for_all():
    failure = FeatureUpdateFailure(ErrorCode.INVALID_UPDATE_VERSION, "It refuses.")
    updates = dict.fromkeys(["group.version", "metadata.version"], FeatureUpdate(1, UpgradeType.SAFE_DOWNGRADE))
    details = FeatureUpdateDetails(losses=[LOSS], blockers=[{"text": "broker 1 is gone"}])
    result = UpdateFeaturesResult(endpoint=Endpoint("c", 1), values=dict.fromkeys(updates, failure), details=details)
    outcome = UpdateOutcome(updates=updates, result=result, is_ledger_ours=True)
    view = FeatureChanges(command="downgrade", outcome=outcome, is_dry_run=True)
    assert list(view.text()) == [
        "Can not downgrade group.version to 1. It refuses.",
        "Can not downgrade metadata.version to 1. Refused for the same reason.",
        "  in the way: broker 1 is gone",
        "  lost: user alice: SCRAM is gone",
    ]
    assert view.document()["losses"] == [LOSS]
    assert not outcome.would_lose_data, "nothing but the server's refusal is known to be in the way"
