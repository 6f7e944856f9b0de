"""Clusters whose nodes and level move: down and up again, and what an operator must not do yet."""

import pytest
from rolling_clusters import NODES, level, lines, played, roll, scenario

from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.simulation.rolls.plan import AskTooEarly, Pause, Restart, RollPlan, StartTooEarly
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release


@pytest.mark.slow
def test_a_cluster_is_lowered_and_run_as_older_releases_one_after_the_other():
    result = played(1, scenario(level("3.9"), roll("3.9"), level("3.7"), roll("3.7")))
    assert result.marks["metadata.version lowered"] == 2
    assert len(lines(result, "release=3.9.1")) == len(lines(result, "release=3.7.2")) == len(NODES)
    assert len(lines(result, "reason=metadata.version was lowered")) == 2 * len(NODES)


@pytest.mark.slow
def test_a_cluster_goes_up_again():
    result = played(2, scenario(level("3.9"), roll("3.9"), roll("4.4"), level("4.4")))
    assert result.marks["metadata.version raised"] == 1
    assert len(lines(result, "release=4.4.0")) == len(NODES)


@pytest.mark.slow
@pytest.mark.parametrize("keeps_bootstrap", [True, False])
def test_a_node_that_is_started_too_early_as_an_older_release_says_why_not_and_comes_back_as_it_was(keeps_bootstrap):
    early = StartTooEarly(node_id=2, release=Release.parse("3.9"), keeps_bootstrap=keeps_bootstrap)
    result = played(3, scenario(early, level("3.9"), roll("3.9")))
    (refused,) = lines(result, "does not start")
    assert "this controller only supports versions 1-21" in refused
    assert ("bootstrap.checkpoint" in refused) == keeps_bootstrap


@pytest.mark.slow
def test_a_broker_that_is_gone_keeps_the_level_back_until_it_is_unregistered():
    plan = RollPlan(steps=(level("3.9"), roll("4.4"), level("4.4")), has_ghost=True)
    result = played(4, scenario(roll=plan))
    assert result.marks["level kept back by a ghost"] >= 1
    assert lines(result, "did unregister 19")


@pytest.mark.slow
def test_what_is_lost_is_refused_first_and_then_agreed_to():
    newest = Release.parse("4.4")
    result = played(
        3,
        scenario(
            Pause(for_ms=3000),
            level("4.3"),
            roll("4.3"),
            releases=(newest,) * 3,
            node_releases=(newest,),
            metadata_version=newest.latest_metadata_version,
            faults_ms=6000,
        ),
    )
    tried, refused, done = result.answers
    assert (tried.is_dry_run, bool(tried.message), bool(refused.message), done.message) == (True, True, True, "")
    assert done.upgrade_type is UpgradeType.UNSAFE_DOWNGRADE
    assert {loss["kind"] for loss in done.details.losses} == {"cidr_allow_acl"}


@pytest.mark.slow
def test_a_level_waits_for_the_last_node():
    newest = Release.parse("4.4")
    steps = (Restart(node_ids=(1, 2, 3), release=newest), AskTooEarly(to=MetadataVersion.parse("4.4")), roll("4.4"))
    result = played(7, scenario(*steps, level("4.4")))
    refused, done = result.answers
    assert "Broker 21 only supports versions" in refused.message
    assert done.message == ""
