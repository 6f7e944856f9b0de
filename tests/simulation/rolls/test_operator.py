"""Clusters whose nodes and level move: down and up again, and what an operator must not do yet."""

from dataclasses import replace
from random import Random

import pytest
from rolling_clusters import NODES, level, lines, played, roll, scenario

from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.simulation.plans.roll_plan import (
    AskTooEarly,
    Pause,
    Restart,
    RollPlan,
    SetFeature,
    SetLevel,
    StartTooEarly,
)
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION as ELR
from falkirk.versions.features import TRANSACTION_VERSION
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
    assert "bootstrap.checkpoint" not in refused, "the log has left it behind"


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
def test_eligible_replicas_go_before_the_level_that_has_them_or_with_it():
    on, off = (SetFeature(name=ELR, to=to) for to in (1, 0))
    together = replace(level("3.9"), switched_off=(ELR,))
    result = played(8, scenario(on, level("4.0"), off, level("3.9"), level("4.3"), on, Pause(for_ms=1000), together))
    assert result.marks["eligible.leader.replicas.version raised"] == 2
    assert result.marks["eligible.leader.replicas.version lowered"] == 1
    assert [answer.to.level for answer in result.answers if not answer.is_dry_run] == [25, 21, 30, 21]


def test_random_plans_never_ask_for_a_level_below_that_of_eligible_replicas_that_are_on():
    switched = 0
    for seed in range(300):
        releases = dict.fromkeys(NODES, Release.parse("4.2"))
        at = releases[1].latest_metadata_version
        plan = RollPlan.of(Random(seed), releases, at, brokers=[21], has_dynamic_voters=False, move_count=4)
        is_on = False
        for step in plan.with_elr(Random(seed), releases, at).steps:
            if isinstance(step, SetFeature):
                assert is_on == (step.to == 0)
                is_on = step.to == 1
                switched += 1
            elif isinstance(step, SetLevel):
                is_on &= ELR not in step.switched_off
                assert step.to.elr_supported or not is_on
    assert switched > 100


def test_random_plans_never_ask_for_a_level_whose_release_lacks_the_transaction_version_that_is_on():
    lowered = 0
    for seed in range(300):
        releases = dict.fromkeys(NODES, Release.parse("4.2"))
        at = releases[1].latest_metadata_version
        plan = RollPlan.of(Random(seed), releases, at, brokers=[21], has_dynamic_voters=False, move_count=4)
        level = 0
        for step in plan.with_transaction_levels(Random(seed), releases, at).steps:
            if isinstance(step, SetFeature):
                lowered += step.to < level
                level = step.to
            elif isinstance(step, SetLevel):
                its_own = Release.parse(step.to.release)
                assert step.to > at or not its_own.unsupported_features({TRANSACTION_VERSION: level})
                at = step.to
    assert lowered > 100


@pytest.mark.slow
def test_a_level_waits_for_the_last_node():
    newest = Release.parse("4.4")
    steps = (Restart(node_ids=(1, 2, 3), release=newest), AskTooEarly(to=MetadataVersion.parse("4.4")), roll("4.4"))
    result = played(7, scenario(*steps, level("4.4")))
    refused, done = result.answers
    assert "Broker 21 only supports versions" in refused.message
    assert done.message == ""
