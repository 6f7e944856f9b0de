"""group.version falls while a consumer group is alive: members go, offsets stay, classic members take it over."""

import pytest
from group_cluster import GroupCluster, commit_errors, commit_request

from falkirk.coordinator.records.record_type import GroupType
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import decode_details
from falkirk.protocol.messages import (
    ConsumerGroupHeartbeatRequest,
    JoinGroupRequest,
    SyncGroupRequest,
    UpdateFeaturesRequest,
)
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol
from falkirk.protocol.messages.sync_group_request import SyncGroupRequestAssignment
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.slices import exhaust

MEMBER = "m" * 22
T0 = ("t", 0)


def a_cluster():
    """One broker with a topic, and a consumer group with a member that has committed an offset."""
    cluster = GroupCluster(brokers=1, offsets_partitions=1)
    cluster.create("t", partitions=2, factor=1)
    assert lowered(cluster, 1, UpgradeType.UPGRADE)[0] == 0
    assert beat(cluster, 0) == (ErrorCode.NONE, 2)
    request = commit_request("g", {T0: 7})
    request.member_id, request.generation_id_or_member_epoch = MEMBER, 2
    assert commit_errors(cluster.ask("g", request, 9)) == {T0: ErrorCode.NONE}
    return cluster


def lowered(cluster, level, type_):
    """Set group.version; return the error, the message, and what is cut off."""
    update = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("group.version", level, upgrade_type=type_)])
    answer = cluster.network.client(1).ask(update, 2)
    details = decode_details(answer.unknown_tagged_fields)
    return answer.error_code, answer.error_message, [] if details is None else details.losses


def beat(cluster, epoch):
    heartbeat = ConsumerGroupHeartbeatRequest(group_id="g", member_id=MEMBER, member_epoch=epoch)
    if epoch == 0:
        heartbeat.rebalance_timeout_ms, heartbeat.subscribed_topic_names, heartbeat.topic_partitions = 5_000, ("t",), []
    answer = cluster.ask("g", heartbeat, 1)
    return answer.error_code, answer.member_epoch


def measured(cluster):
    return exhaust(cluster.network.hosts[101].running.measure_slices()).groups


def join(cluster):
    protocols = [JoinGroupRequestProtocol("range", b"")]
    request = JoinGroupRequest("g", 10_000, 10_000, protocol_type="consumer", protocols=protocols)
    return cluster.ask("g", request, 3)


@pytest.mark.slow
def test_members_are_named_refused_and_gone_and_classic_ones_find_the_offsets():
    cluster = a_cluster()
    assert measured(cluster).groups == {(GroupType.CONSUMER, "Stable"): 1}
    code, message, _ = lowered(cluster, 0, UpgradeType.SAFE_DOWNGRADE)
    assert code == ErrorCode.INVALID_UPDATE_VERSION
    assert f"group g is a consumer group with 1 members ({MEMBER})" in message
    assert beat(cluster, 2) == (ErrorCode.NONE, 2)

    code, _, (drained,) = lowered(cluster, 0, UpgradeType.UNSAFE_DOWNGRADE)
    assert code == ErrorCode.NONE
    assert drained["after"] == {"members": 0, "committed_offsets": 1}
    cluster.run_until(lambda: beat(cluster, 2)[0] == ErrorCode.UNSUPPORTED_VERSION)
    assert join(cluster).error_code != ErrorCode.NONE
    cluster.run_until(lambda: measured(cluster).groups == {(GroupType.CONSUMER, "Empty"): 1}, within_ms=60_000)
    assert cluster.fetch_offsets("g") == {T0: 7}

    joined = join(cluster)
    assert (joined.error_code, joined.leader) == (ErrorCode.NONE, joined.member_id)
    assert measured(cluster).groups == {(GroupType.CLASSIC, "CompletingRebalance"): 1}
    assignments = [SyncGroupRequestAssignment(joined.member_id, b"mine")]
    synced = cluster.ask("g", SyncGroupRequest("g", joined.generation_id, joined.member_id, assignments=assignments), 2)
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"mine")
    assert cluster.fetch_offsets("g") == {T0: 7}
    # SAFE has nothing against it now, and a coordinator that loads the log comes to the same.
    assert lowered(cluster, 1, UpgradeType.UPGRADE)[0] == 0
    assert lowered(cluster, 0, UpgradeType.SAFE_DOWNGRADE) == (ErrorCode.NONE, None, [])
    cluster.network.restart(101)
    cluster.run_until(lambda: cluster.is_running(101))
    assert cluster.fetch_offsets("g") == {T0: 7}
    assert [type_ for type_, _ in measured(cluster).groups] == [GroupType.CLASSIC]


def test_what_is_told_of_groups_follows_what_happens_to_them():
    cluster = a_cluster()
    cluster.commit("offsets-alone", {T0: 1, ("t", 1): 2})
    now = measured(cluster)
    assert now.groups == {(GroupType.CONSUMER, "Stable"): 1, (GroupType.CLASSIC, "Empty"): 1}
    assert now.offsets == 3
    assert now.counters.offset_commits == 3
    assert (now.counters.consumer_group_rebalances, now.counters.classic_group_rebalances) == (1, 0)
    assert beat(cluster, -1) == (ErrorCode.NONE, -1)
    assert measured(cluster).groups[GroupType.CONSUMER, "Empty"] == 1
