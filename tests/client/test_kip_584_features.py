"""The client among brokers as KIP-584 has them: min levels, brokers that lag behind, and where the controller is."""

import pytest
from kip_584_servers import CONTROLLER, Kip584Servers

from falkirk.client.admin import AsyncAdmin
from falkirk.client.blocking_admin import Admin
from falkirk.client.config import ClientConfig
from falkirk.client.event_loop import run
from falkirk.client.feature_update import FeatureUpdate
from falkirk.client.node_versions import FinalizedVersionRange
from falkirk.metadata.zookeeper.finalized_features import FinalizedRange
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.supported_range import SupportedRange

CONFIG = ClientConfig(retry_backoff_ms=1)
UP = {"a": FeatureUpdate(3)}
DELETION = {"c": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)}


def servers(**options):
    supported = {"a": SupportedRange(1, 3), "c": SupportedRange(2, 4)}
    return Kip584Servers(supported, {"a": FinalizedRange(1, 2), "c": FinalizedRange(2, 4)}, **options)


def asked(cluster, story, *, at=1):
    async def scenario():
        async with cluster, AsyncAdmin([cluster.nodes[at - 1].endpoint], CONFIG) as admin:
            return await story(admin)

    return run(scenario())


def updated(cluster, updates=UP, **options):
    return asked(cluster, lambda admin: admin.update_features(updates, **options)).values


# --- describing


def test_both_ends_of_finalized_levels_are_told():
    found = asked(servers(epoch=0), lambda admin: admin.describe_features())
    assert found.finalized_features == {"a": FinalizedVersionRange(1, 2), "c": FinalizedVersionRange(2, 4)}
    assert found.finalized_features_epoch == 0


def test_what_the_controller_knows_better_is_kept_with_its_minimum_when_a_lagging_broker_is_asked_again():
    cluster = servers()
    updated(cluster)
    updated(cluster, DELETION)
    cluster.lag = {1: 1}

    async def story(admin):
        return [await admin.describe_features(), await admin.newest_features(), await admin.describe_features()]

    lagging, newest, again = asked(cluster, story)
    assert [each.finalized_features_epoch for each in (lagging, newest, again)] == [2, 3, 3]
    assert lagging.finalized_features == {"a": FinalizedVersionRange(1, 3), "c": FinalizedVersionRange(2, 4)}
    assert again.finalized_features == newest.finalized_features == {"a": FinalizedVersionRange(1, 3)}


def test_the_blocking_admin_asks_the_controller_as_well():
    cluster = servers()
    updated(cluster)
    cluster.lag = {1: 1}
    with cluster.running(), Admin([cluster.nodes[0].endpoint], CONFIG) as admin:
        told = admin.describe_features(), admin.newest_features()
    assert [each.finalized_features_epoch for each in told] == [1, 2]


def test_a_controller_that_lags_behind_changes_nothing():
    cluster = servers()
    updated(cluster)
    cluster.lag = {CONTROLLER: 1}
    assert asked(cluster, lambda admin: admin.newest_features()).finalized_features_epoch == 2


@pytest.mark.parametrize("controller", [-1, 7])
def test_without_a_controller_the_newest_is_what_the_broker_tells(controller):
    cluster = servers()
    cluster.controller_id, cluster.unreachable = controller, {7}
    assert asked(cluster, lambda admin: admin.newest_features()).finalized_features_epoch == 1


# --- updating


def test_brokers_that_cannot_pass_updates_on_are_only_asked_who_the_controller_is():
    cluster = servers()
    assert updated(cluster) == {"a": None}
    assert [node_id for node_id, _, _ in cluster.asked] == [CONTROLLER]


def test_an_update_follows_the_controller():
    cluster = servers()
    told_late = cluster.nodes[0].answer

    def answer(request):
        if request.api_key == 60:
            cluster.controller_id = 1 if cluster.asked else CONTROLLER
            told = told_late(request)
            cluster.controller_id = 1
            return told
        return told_late(request)

    cluster.nodes[0].answer = answer
    assert updated(cluster) == {"a": None}
    assert [node_id for node_id, _, _ in cluster.asked] == [CONTROLLER, 1]


@pytest.mark.parametrize(("updates", "left"), [(UP, {"a": 3, "c": 4}), (DELETION, {"a": 2})])
def test_what_was_done_though_its_answer_was_lost_is_done(updates, left):
    cluster = servers()
    cluster.answers_lost = 1
    assert updated(cluster, updates) == dict.fromkeys(updates)
    assert (cluster.levels, len(cluster.asked)) == (left, 2)


def test_what_was_refused_stays_refused_after_a_lost_answer():
    cluster = servers()
    cluster.answers_lost = 1
    values = updated(cluster, UP | {"c": FeatureUpdate(5), "new": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)})
    assert values["a"] is None
    assert values["c"].error_code == ErrorCode.FEATURE_UPDATE_FAILED
    # It cannot be told from one that was deleted by the lost request.
    assert values["new"] is None


def test_an_equal_level_is_refused_where_no_answer_was_lost():
    values = updated(servers(), {"a": FeatureUpdate(2)})
    assert values["a"].error_code == ErrorCode.INVALID_REQUEST


def test_a_dry_run_whose_answer_was_lost_is_asked_anew_and_judged_as_it_is():
    cluster = servers()
    cluster.answers_lost = 1
    values = updated(cluster, {"a": FeatureUpdate(2)}, validate_only=True)
    assert values["a"].error_code == ErrorCode.INVALID_REQUEST
