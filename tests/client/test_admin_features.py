"""AsyncAdmin and Admin on features: which node is asked, what is asked again, and what no node can make them forget."""

import pytest
from fake_node import FakeNode, ranges
from feature_servers import NEW, FeatureServers, feature_answer

from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.blocking_admin import Admin
from falkirk.client.config import ClientConfig
from falkirk.client.errors import (
    ConnectionFailedError,
    NoControllerError,
    NoNodeReachedError,
    RequestTimedOutError,
    UnknownNodeError,
    UnsupportedUpdateError,
)
from falkirk.client.event_loop import run
from falkirk.client.feature_metadata import SupportedVersionRange
from falkirk.client.feature_update import FeatureUpdate, FeatureUpdateFailure
from falkirk.client.node_versions import FinalizedVersionRange
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesResponse
from falkirk.protocol.metadata_progress_tags import MetadataProgress
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.negotiation import UnsupportedApiError

CONFIG = ClientConfig(retry_backoff_ms=1)
UPDATE = {"f": FeatureUpdate(2)}
NOT_CONTROLLER = UpdateFeaturesResponse(error_code=ErrorCode.NOT_CONTROLLER)


def features(epoch, level):
    return feature_answer(epoch, {"f": (0, 9)}, {"f": level})


def updated(cluster, updates=UPDATE, *, kind=EndpointType.BROKER, at=1, config=CONFIG, **options):
    async def scenario():
        async with cluster, AsyncAdmin([cluster.nodes[at].endpoint], config, endpoint_type=kind) as admin:
            return await admin.update_features(updates, **options)

    return run(scenario())


def asked_nodes(cluster):
    return [node_id for node_id, _, _ in cluster.asked]


# --- describing


def test_features_are_told_with_ranges_and_epoch():
    async def scenario():
        node = FakeNode(NEW, lambda _: features(3, 2))
        async with node, AsyncAdmin([node.endpoint], CONFIG) as admin:
            return await admin.describe_features()

    found = run(scenario())
    assert found.finalized_features == {"f": FinalizedVersionRange(2, 2)}
    assert found.supported_features == {"f": SupportedVersionRange(0, 9)}
    assert found.finalized_features_epoch == 3


def test_without_an_epoch_finalized_features_are_unknown():
    async def scenario():
        node = FakeNode(NEW)
        async with node, AsyncAdmin([node.endpoint], CONFIG) as admin:
            return await admin.describe_features()

    found = run(scenario())
    assert (found.finalized_features_epoch, found.finalized_features) == (None, {})


def test_a_stale_node_never_makes_the_epoch_fall():
    answers = [features(7, 4), features(7, 4), features(5, 1), features(8, 3)]

    async def scenario():
        async with FakeNode(NEW, lambda _: answers.pop(0)) as node, AsyncAdmin([node.endpoint], CONFIG) as admin:
            return [await admin.describe_features() for _ in range(3)]

    found = run(scenario())
    assert [each.finalized_features_epoch for each in found] == [7, 7, 8]
    assert [each.finalized_features["f"].max_version_level for each in found] == [4, 4, 3]


def test_of_controllers_the_active_one_is_asked():
    cluster = FeatureServers(UpdateFeaturesResponse())

    async def scenario():
        async with cluster:
            where = [cluster.nodes[1].endpoint]
            async with AsyncAdmin(where, CONFIG, endpoint_type=EndpointType.CONTROLLER) as admin:
                await admin.describe_features()

    run(scenario())
    assert [request for request in cluster.nodes[0].requests if request[0] == 18] != []


def test_one_node_is_asked_by_its_id_and_told_for_itself():
    cluster = FeatureServers(UpdateFeaturesResponse())
    cluster.features = [features(7, 4), features(7, 4), features(5, 1)]

    async def scenario(node_id):
        async with cluster, AsyncAdmin([cluster.nodes[0].endpoint], CONFIG) as admin:
            await admin.describe_features()
            return await admin.describe_features(node_id)

    assert run(scenario(2)).finalized_features_epoch == 5
    assert cluster.nodes[1].requests != []
    with pytest.raises(UnknownNodeError, match="the cluster has no node 3"):
        run(scenario(3))


def test_the_quorum_is_described_by_the_offsets_of_its_replicas():
    cluster = FeatureServers(UpdateFeaturesResponse())
    cluster.offsets = [(10, 4)]

    async def scenario():
        async with cluster, AsyncAdmin([cluster.nodes[0].endpoint], CONFIG) as admin:
            return await admin.describe_quorum()

    found = run(scenario())
    assert (found.leader_id, found.leader_epoch, found.high_watermark) == (1, 7, 10)
    assert (found.voters, found.observers) == ({1: 10}, {2: 4})


# --- updating


def test_a_broker_is_asked_itself_and_passes_it_on():
    cluster = FeatureServers(UpdateFeaturesResponse())
    result = updated(cluster, timeout_ms=5000, validate_only=True)
    assert result.values == {"f": None}
    [(node_id, version, request)] = cluster.asked
    assert (node_id, version, request.validate_only) == (2, 2, True)
    assert 0 < request.timeout_ms <= 5000


def test_of_controllers_the_active_one_is_asked_to_update():
    cluster = FeatureServers(UpdateFeaturesResponse())
    updated(cluster, kind=EndpointType.CONTROLLER)
    assert asked_nodes(cluster) == [1]


@pytest.mark.parametrize("kind", list(EndpointType))
def test_where_the_controller_has_changed_it_is_looked_for_and_asked_again(kind):
    cluster = FeatureServers(NOT_CONTROLLER, NOT_CONTROLLER, UpdateFeaturesResponse())
    assert updated(cluster, kind=kind).values == {"f": None}
    assert asked_nodes(cluster)[-2:] == [1, 1]
    assert len(cluster.asked) == 3


def test_a_new_controller_is_found():
    cluster = FeatureServers(NOT_CONTROLLER, UpdateFeaturesResponse())
    cluster.controller_id = 1
    old_answer = cluster.nodes[0].answer

    def answer(request):
        if request.api_key == 57:
            cluster.controller_id = 2
        return old_answer(request)

    cluster.nodes[0].answer = answer
    updated(cluster, kind=EndpointType.CONTROLLER)
    assert asked_nodes(cluster) == [1, 2]


def test_not_controller_is_told_when_the_time_is_over():
    cluster = FeatureServers(NOT_CONTROLLER)
    result = updated(cluster, timeout_ms=30)
    assert result.values == {"f": FeatureUpdateFailure(ErrorCode.NOT_CONTROLLER, "NOT_CONTROLLER")}
    assert len(cluster.asked) > 1


def test_other_refusals_are_told_at_once():
    refused = UpdateFeaturesResponse(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message="too high")
    cluster = FeatureServers(refused)
    result = updated(cluster)
    assert result.values == {"f": FeatureUpdateFailure(ErrorCode.INVALID_UPDATE_VERSION, "too high")}
    assert len(cluster.asked) == 1


def test_a_connection_that_breaks_is_made_again():
    cluster = FeatureServers(b"\x00\x00\x00\x00", UpdateFeaturesResponse())
    assert updated(cluster).values == {"f": None}
    assert len(cluster.asked) == 2


def test_a_connection_that_breaks_again_and_again_is_an_error_in_the_end():
    with pytest.raises(ConnectionFailedError, match="cannot be read"):
        updated(FeatureServers(b"\x00\x00\x00\x00"), timeout_ms=30)


def test_a_node_that_does_not_answer_is_not_asked_twice():
    cluster = FeatureServers(None)
    with pytest.raises(RequestTimedOutError, match="no answer to UpdateFeatures within"):
        updated(cluster, timeout_ms=1, config=ClientConfig(request_timeout_ms=20, retry_backoff_ms=1))
    assert len(cluster.asked) == 1


def test_controllers_without_an_active_one_are_an_error_when_the_time_is_over():
    cluster = FeatureServers(UpdateFeaturesResponse())
    cluster.controller_id = -1
    with pytest.raises(NoControllerError, match="knows no active controller"):
        updated(cluster, kind=EndpointType.CONTROLLER, timeout_ms=20)
    assert cluster.asked == []


def test_an_unreachable_bootstrap_server_is_named_at_once():
    async def scenario():
        async with AsyncAdmin([Endpoint("127.0.0.1", 1)], CONFIG) as admin:
            await admin.update_features(UPDATE)

    with pytest.raises(NoNodeReachedError, match=r"127\.0\.0\.1:1: cannot connect"):
        run(scenario())


# --- old servers

OLD = ranges(api18="0-3", api57="0", api60="0")
SAFE = {"f": FeatureUpdate(1, UpgradeType.SAFE_DOWNGRADE)}
UNSAFE = {"f": FeatureUpdate(1, UpgradeType.UNSAFE_DOWNGRADE)}


def test_a_safe_downgrade_is_said_in_version_0():
    cluster = FeatureServers(UpdateFeaturesResponse(), api_ranges=OLD)
    updated(cluster, SAFE)
    [(_, version, request)] = cluster.asked
    assert (version, request.feature_updates[0].allow_downgrade) == (0, True)


@pytest.mark.parametrize(
    ("updates", "validate_only", "what"), [(UNSAFE, False, "an UNSAFE downgrade"), (SAFE, True, "a dry run")]
)
def test_what_version_0_cannot_say_is_refused_here(updates, validate_only, what):
    cluster = FeatureServers(UpdateFeaturesResponse(), api_ranges=OLD)
    with pytest.raises(UnsupportedUpdateError, match=f"{what} needs version 1 of UpdateFeatures"):
        updated(cluster, updates, validate_only=validate_only)
    assert cluster.asked == []


def test_a_server_without_the_api_is_named():
    with pytest.raises(UnsupportedApiError, match=r"127.0.0.1:\d+: UpdateFeatures .* offered none"):
        updated(FeatureServers(UpdateFeaturesResponse(), api_ranges=ranges(api18="0-3")))


# --- without an event loop


def test_the_blocking_admin_asks_the_same():
    with (
        FeatureServers(UpdateFeaturesResponse()).running() as cluster,
        Admin([cluster.nodes[0].endpoint], CONFIG) as admin,
    ):
        described = admin.describe_cluster()
        assert [node.node_id for node in described.nodes] == [1, 2]
        assert set(admin.api_versions(described.nodes)) == {1, 2}
        assert admin.describe_features().finalized_features_epoch is None
        assert admin.update_features(UPDATE).values == {"f": None}


# --- how far nodes are with the metadata log


def test_nodes_of_ours_tell_their_progress_where_they_are_asked_and_others_do_not():
    progress = MetadataProgress(
        snapshot_end_offset=9, snapshot_metadata_version=21, log_start_offset=9, applied_offset=9, holds_lowering=False
    )

    async def scenario():
        cluster = FeatureServers()
        cluster.features = [features(3, 2)]
        cluster.progress = {1: [progress]}
        async with cluster, AsyncAdmin([cluster.nodes[0].endpoint], CONFIG) as admin:
            nodes = (await admin.describe_cluster()).nodes
            return await admin.api_versions(nodes, with_progress=True), await admin.api_versions(nodes)

    asked, not_asked = run(scenario())
    assert {node_id: told.metadata_progress for node_id, told in asked.items()} == {1: progress, 2: None}
    assert {node_id: told.metadata_progress for node_id, told in not_asked.items()} == {1: None, 2: None}
    assert asked[1].finalized_features == not_asked[1].finalized_features


def test_the_quorum_tells_where_voters_listen_and_the_cluster_which_brokers_are_fenced():
    async def scenario():
        cluster = FeatureServers()
        cluster.voters, cluster.unreachable, cluster.fenced = {1, 3}, {3}, {9}
        async with cluster, AsyncAdmin([cluster.nodes[0].endpoint], CONFIG) as admin:
            quorum = await admin.describe_quorum()
            return quorum, await admin.describe_cluster(include_fenced=True), cluster.nodes[0].endpoint

    quorum, cluster, first = run(scenario())
    assert quorum.voter_endpoints == {1: first, 3: Endpoint("127.0.0.1", 1)}
    assert [(node.node_id, node.is_fenced) for node in cluster.nodes] == [(1, False), (2, False), (9, True)]


def test_a_node_that_cannot_tell_of_fenced_brokers_is_not_asked_for_them():
    async def scenario():
        old = FeatureServers(api_ranges=NEW | ranges(api60="0-1"))
        async with old, AsyncAdmin([old.nodes[0].endpoint], CONFIG) as admin:
            return (await admin.describe_cluster(include_fenced=True)).nodes

    assert [node.node_id for node in run(scenario())] == [1, 2]
