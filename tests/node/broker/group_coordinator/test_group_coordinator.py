"""Brokers of ours coordinate groups: what is committed is kept whoever leads, and what is not committed nobody sees."""

from dataclasses import replace
from itertools import pairwise

import pytest
from group_cluster import GroupCluster, commit_errors, commit_request

from falkirk.coordinator.shard import group_coordinator_shard
from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
from falkirk.node.broker.coordinator_runtime.hosted_shard import HostState
from falkirk.node.handlers.produce import ADMIN_CLIENT_ID
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.connection import Connection, Role
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    ListGroupsRequest,
    ProduceRequest,
    SyncGroupRequest,
    UpdateFeaturesRequest,
)
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.log.read import FetchIsolation
from falkirk.versions.release import CONSUMER_OFFSETS

T0, T1 = ("t", 0), ("t", 1)
# With two partitions of `__consumer_offsets`.
IN_0, IN_1 = "f", "g"


def a_cluster(**settings):
    """A cluster with a topic of two partitions."""
    cluster = GroupCluster(**settings)
    cluster.create("t", partitions=2, factor=min(3, len(cluster.brokers)))
    return cluster


def batches(cluster, broker, group_id):
    """The batches that a broker has of a group's partition."""
    log = cluster.log(broker, CONSUMER_OFFSETS, cluster.partition_of(group_id))
    data = log.read(log.log_start_offset, 2**30, FetchIsolation.LOG_END, is_one_batch_needed=True).records
    return list(read_batches(data))


def facts(cluster, level="error"):
    """What all brokers told at a level."""
    return [fact for host in cluster.network.hosts.values() for fact in host.facts if fact.level == level]


def join_request(group_id, member_id=""):
    protocols = [JoinGroupRequestProtocol("range", b"")]
    return JoinGroupRequest(
        group_id, 10_000, 10_000, member_id=member_id, protocol_type="consumer", protocols=protocols
    )


# --- Committing


@pytest.mark.parametrize("release", ["3.7", "4.4"])
def test_committed_offsets_are_in_every_replica_and_are_told(release):
    cluster = a_cluster(release=release)
    assert cluster.commit("g", {T0: 7, T1: 8}) == {T0: 0, T1: 0}
    assert cluster.fetch_offsets("g") == {T0: 7, T1: 8}
    index = cluster.partition_of("g")
    for broker in cluster.brokers:
        assert len(cluster.values(broker, CONSUMER_OFFSETS, index)) == 2
    assert facts(cluster) == []


def test_the_next_leader_loads_what_was_committed():
    cluster = a_cluster()
    cluster.commit("g", {T0: 7})
    old = cluster.coordinator("g")
    new = cluster.move("g")
    assert new != old
    assert cluster.fetch_offsets("g") == {T0: 7}
    assert cluster.commit("g", {T0: 9}) == {T0: 0}

    cluster.start(old)
    cluster.wait_for_isr(CONSUMER_OFFSETS, *cluster.brokers, index=cluster.partition_of("g"))
    cluster.move("g")
    assert cluster.fetch_offsets("g") == {T0: 9}
    assert facts(cluster) == []


def test_who_does_not_lead_a_groups_partition_says_so():
    cluster = a_cluster(brokers=2, offsets_partitions=1)
    leader = cluster.coordinator("g")
    other = next(broker for broker in cluster.brokers if broker != leader)
    assert cluster.commit("g", {T0: 7}, broker=other) == {T0: ErrorCode.NOT_COORDINATOR}
    assert cluster.fetch_offsets("g", broker=other) == ErrorCode.NOT_COORDINATOR


def test_decisions_of_a_step_are_one_batch_for_each_partition():
    cluster = a_cluster(brokers=1)
    broker = cluster.coordinator(IN_0)
    cluster.coordinator(IN_1)
    before = [len(batches(cluster, broker, group)) for group in (IN_0, IN_1)]
    client = cluster.client(broker)
    sent = [client.send(commit_request(group, {T0: 5}), 8) for group in (IN_0, IN_1, IN_0, IN_1)]
    cluster.run_until(lambda: client.answers.keys() >= set(sent))
    assert [commit_errors(client.answers[each]) for each in sent] == [{T0: 0}] * 4
    after = [batches(cluster, broker, group) for group in (IN_0, IN_1)]
    assert [len(each) for each in after] == [count + 1 for count in before]
    assert [each[-1].record_count for each in after] == [2, 2]


@pytest.mark.parametrize(
    ("release", "told"), [("3.9", ErrorCode.INVALID_COMMIT_OFFSET_SIZE), ("4.3", ErrorCode.UNKNOWN_SERVER_ERROR)]
)
def test_a_commit_that_no_batch_can_hold_changes_nothing(release, told):
    cluster = a_cluster(brokers=1, release=release, properties={"message.max.bytes": "200"})
    assert cluster.commit("g", {T0: 7}) == {T0: 0}
    assert cluster.commit("g", {T0: 8, T1: 8}) == {T0: 0, T1: 0}
    cluster.create("a-topic-with-a-rather-long-name" * 4, partitions=2, factor=1)
    long = {("a-topic-with-a-rather-long-name" * 4, index): 9 for index in (0, 1)}
    assert set(cluster.commit("g", long).values()) == {told}
    assert cluster.fetch_offsets("g") == {T0: 8, T1: 8}
    assert cluster.commit("g", {T0: 9}) == {T0: 0}
    assert facts(cluster) == []


def test_what_one_batch_cannot_hold_of_a_step_becomes_two():
    cluster = a_cluster(brokers=1, properties={"message.max.bytes": "200"})
    broker = cluster.coordinator("g")
    client = cluster.client(broker)
    sent = [client.send(commit_request("g", {T0: number, T1: number}), 8) for number in range(3)]
    cluster.run_until(lambda: client.answers.keys() >= set(sent))
    assert [batch.record_count for batch in batches(cluster, broker, "g")] == [2, 2, 2]
    assert cluster.fetch_offsets("g") == {T0: 2, T1: 2}


def test_nothing_is_written_while_too_few_replicas_are_in_sync():
    cluster = a_cluster(properties={"min.insync.replicas": "2"}, offsets_partitions=1)
    cluster.commit("g", {T0: 7})
    leader = cluster.coordinator("g")
    for broker in cluster.brokers:
        if broker != leader:
            cluster.kill(broker)
    cluster.wait_for_isr(CONSUMER_OFFSETS, leader)
    assert cluster.commit("g", {T0: 9}) == {T0: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert cluster.fetch_offsets("g") == {T0: 7}


def test_nobody_is_told_what_is_not_committed_yet():
    cluster = a_cluster(offsets_partitions=1, properties={"replica.lag.time.max.ms": "20000"})
    cluster.commit("g", {T0: 7})
    leader = cluster.coordinator("g")
    others = [broker for broker in cluster.brokers if broker != leader]
    cluster.cut(*((broker, leader) for broker in others))
    client, reader = cluster.client(leader), cluster.client(leader)
    sent = client.send(commit_request("g", {T0: 9}), 8)
    cluster.run(100)
    assert cluster.fetch_offsets("g", broker=leader) == ErrorCode.NOT_COORDINATOR
    cluster.run_until(lambda: sent in client.answers)
    assert commit_errors(client.answers[sent]) == {T0: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    heartbeat = reader.send(HeartbeatRequest("g", 1, "nobody"), 4)
    cluster.run(1_000)
    assert heartbeat not in reader.answers

    cluster.network.heal()
    cluster.run_until(lambda: heartbeat in reader.answers)
    assert reader.answers[heartbeat].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert cluster.fetch_offsets("g") == {T0: 9}


# --- Losing a partition


def test_a_member_that_waits_hears_that_its_coordinator_has_gone():
    cluster = a_cluster(offsets_partitions=1, properties={"group.initial.rebalance.delay.ms": "60000"})
    leader = cluster.coordinator("g")
    client = cluster.client(leader)
    waiting = client.send(join_request("g"), 3)
    cluster.run(1_000)
    assert waiting not in client.answers
    cluster.reassign(CONSUMER_OFFSETS, [broker for broker in cluster.brokers if broker != leader])
    cluster.run_until(lambda: waiting in client.answers)
    assert client.answers[waiting].error_code == ErrorCode.NOT_COORDINATOR
    assert cluster.host(leader, "g") is None
    assert cluster.groups(leader).next_wakeup_ms is None


def test_the_topic_of_the_groups_may_be_deleted_and_comes_again():
    cluster = a_cluster(brokers=1, properties={"group.initial.rebalance.delay.ms": "60000"})
    cluster.commit("g", {T0: 7})
    client = cluster.client(cluster.coordinator("g"))
    waiting = client.send(join_request("g"), 3)
    cluster.run(100)
    cluster.delete(CONSUMER_OFFSETS)
    cluster.run_until(lambda: waiting in client.answers)
    assert client.answers[waiting].error_code == ErrorCode.NOT_COORDINATOR
    assert cluster.fetch_offsets("g") == {}
    assert [fact.fields["topics"] for fact in cluster.network.facts("topics-are-created")] == [[CONSUMER_OFFSETS]] * 2


def test_offsets_of_a_deleted_topic_are_gone_for_good():
    cluster = a_cluster(offsets_partitions=1)
    cluster.create("other")
    cluster.commit("g", {T0: 7, T1: 8, ("other", 0): 9})
    cluster.delete("t")
    cluster.run_until(lambda: cluster.fetch_offsets("g") == {("other", 0): 9})
    cluster.move("g")
    assert cluster.fetch_offsets("g") == {("other", 0): 9}


def test_a_record_that_nobody_can_read_fails_its_partition_and_no_other():
    cluster = a_cluster(brokers=1)
    cluster.commit(IN_0, {T0: 7})
    cluster.commit(IN_1, {T0: 8})
    client = cluster.client(101)
    client.connection = Connection(role=Role.CLIENT, client_id=ADMIN_CLIENT_ID)
    garbage = build_batch([Record(0, cluster.network.now_ms, b"\x00\x02\x00\x09short", b"\x00\x03")], base_offset=0)
    data = TopicProduceData(name=CONSUMER_OFFSETS, partition_data=[PartitionProduceData(0, garbage)])
    answer = client.ask(ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[data]), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0

    cluster.network.restart(101)
    cluster.run_until(lambda: cluster.is_running(101))
    assert cluster.fetch_offsets(IN_1) == {T0: 8}
    cluster.run_until(lambda: cluster.host(101, IN_0).state is HostState.FAILED)
    assert cluster.fetch_offsets(IN_0, broker=101) == ErrorCode.NOT_COORDINATOR
    (failed,) = [fact for fact in facts(cluster) if fact.event == "group-coordinator-failed"]
    assert failed.fields["partition"] == f"{CONSUMER_OFFSETS}-0"
    assert failed.fields["offset"] == 1
    assert failed.fields["reason"]
    listed = cluster.client(101).ask(ListGroupsRequest(), 4)
    assert (listed.error_code, [group.group_id for group in listed.groups]) == (0, [IN_1])


@pytest.mark.source
def test_a_fault_of_ours_costs_one_request_and_the_shard_is_loaded_anew(monkeypatch):
    cluster = a_cluster(brokers=1)
    cluster.commit(IN_0, {T0: 7})
    other = cluster.host(101, IN_1).shard

    def broken(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(GroupCoordinatorShard, "heartbeat", broken)
        heartbeat = HeartbeatRequest(IN_0, 1, "m")
        assert cluster.client(101).ask(heartbeat, 4).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    (told,) = facts(cluster)
    assert (told.event, told.fields["partition"]) == ("group-coordinator-broke", f"{CONSUMER_OFFSETS}-0")
    assert "ZeroDivisionError" in told.fields["traceback"]
    assert cluster.fetch_offsets(IN_0) == {T0: 7}
    assert cluster.host(101, IN_1).shard is other


def test_a_record_that_cannot_be_written_costs_its_request_and_not_the_shard():
    cluster = a_cluster(brokers=1)
    leader = cluster.client(cluster.coordinator(IN_0))
    shard = cluster.host(101, IN_0).shard
    joined = leader.ask(join_request(IN_0), 3)
    # A client id of the largest length makes a member id that no record can hold.
    long = cluster.client(101)
    long.connection = Connection(role=Role.CLIENT, client_id="c" * 32_767)
    long.send(join_request(IN_0), 3)
    leader.send(join_request(IN_0, joined.member_id), 3)
    cluster.run(1_000)

    request = SyncGroupRequest(IN_0, joined.generation_id + 1, joined.member_id)
    assert cluster.client(101).ask(request, 3).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert cluster.host(101, IN_0).shard is shard
    assert [fact.event for fact in facts(cluster, "warning")] == ["group-coordinator-refused"]


# --- Time


def test_what_becomes_due_wakes_the_node():
    cluster = a_cluster(brokers=1, properties={"group.initial.rebalance.delay.ms": "2000"})
    client = cluster.client(cluster.coordinator("g"))
    began_ms = cluster.network.now_ms
    answer = client.ask(join_request("g"), 3)
    assert (answer.error_code, answer.generation_id) == (0, 1)
    assert cluster.network.now_ms - began_ms == 2_000


def test_partitions_in_which_nothing_happens_ask_for_no_steps():
    cluster = GroupCluster(brokers=1, offsets_partitions=50)
    cluster.coordinator("g")
    groups = cluster.groups(101)
    cluster.run_until(lambda: all(host.shard is not None for host in groups.hosts.values()))
    assert len(groups.hosts) == 50
    # Nothing but the next look for expired offsets.
    assert groups.next_wakeup_ms - cluster.network.now_ms > 500_000


# --- Features


def test_the_consumer_protocol_waits_for_its_feature():
    cluster = a_cluster(brokers=1, release="4.3")
    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m" * 22,
        rebalance_timeout_ms=5_000,
        subscribed_topic_names=("t",),
        topic_partitions=[],
    )
    assert cluster.ask("g", heartbeat, 1).error_code == ErrorCode.UNSUPPORTED_VERSION
    update = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("group.version", 1, upgrade_type=1)])
    assert cluster.client(101).ask(update, 1).error_code == 0
    answer = cluster.ask("g", heartbeat, 1)
    assert (answer.error_code, answer.member_epoch) == (0, 2)


@pytest.mark.slow
def test_what_a_timer_cannot_write_is_told_once_and_tried_less_and_less_often():
    attempts = []

    class Counting(GroupCoordinatorShard):
        def as_written(self, records):
            attempts.append(self.context.now_ms)
            return super().as_written(records)

    cluster = a_cluster(brokers=1, release="4.3")
    update = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("group.version", 1, upgrade_type=1)])
    assert cluster.client(101).ask(update, 1).error_code == 0
    cluster.groups(101)._make_shard = Counting
    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", rebalance_timeout_ms=5_000, subscribed_topic_names=("t",), topic_partitions=[]
    )
    assert cluster.ask("g", heartbeat, 1).error_code == 0
    log = cluster.log(101, CONSUMER_OFFSETS, cluster.partition_of("g"))
    log.config = replace(log.config, max_message_bytes=100)
    attempts.clear()
    cluster.run(45_000 + 120_000)
    waits = [after - before for before, after in pairwise(attempts)]
    assert waits[:3] == [500, 1_000, 2_000]
    assert waits[-1] >= 32_000
    (told,) = facts(cluster)
    assert (told.event, "of group g are too large" in told.fields["reason"]) == ("group-coordinator-refused", True)

    log.config = replace(log.config, max_message_bytes=1_000_000)
    cluster.run(61_000)
    host = cluster.host(101, "g")
    assert host is not None
    assert host.shard is not None
    assert not host.shard.context.groups["g"].members


def steps_that_append(cluster, broker, group_id):
    """Watch a broker; return a list that gets the number of offsets records of each step that appends some."""
    node = cluster.network.hosts[broker].running
    log = cluster.log(broker, CONSUMER_OFFSETS, cluster.partition_of(group_id))
    appended, step = [], node.step

    def counted(*arguments):
        before = log.log_end_offset
        effects = step(*arguments)
        if log.log_end_offset > before:
            appended.append(log.log_end_offset - before)
        return effects

    node.step = counted
    return appended


@pytest.mark.source
def test_the_offsets_of_a_large_deleted_topic_go_some_in_each_step():
    cluster = a_cluster(brokers=1)
    cluster.create("large", partitions=100, factor=1)
    groups = [group_id for group_id in map(str, range(100)) if cluster.partition_of(group_id) == 0][:7]
    for group_id in groups:
        cluster.commit(group_id, {("large", index): 1 for index in range(100)})
    appended = steps_that_append(cluster, 101, groups[0])

    cluster.delete("large")
    cluster.run(1_000)

    assert appended == [250, 250, 200]
    assert all(cluster.fetch_offsets(group_id) == {} for group_id in groups)


def test_many_groups_are_loaded_some_in_each_step_and_not_before_all_are(monkeypatch):
    monkeypatch.setattr(group_coordinator_shard, "GROUPS_AT_ONCE", 2)
    cluster = a_cluster()
    groups = [group_id for group_id in map(str, range(100)) if cluster.partition_of(group_id) == 0][:7]
    for group_id in groups:
        cluster.commit(group_id, {("t", 0): 1})
    cluster.kill(cluster.coordinator(groups[0]))
    cluster.wait_for_leader(CONSUMER_OFFSETS, *cluster.brokers, index=0)
    broker = cluster.state(CONSUMER_OFFSETS, 0).leader
    host = cluster.host(broker, groups[0])
    assert host is not None
    states = []
    cluster.run_until(lambda: states.append(host.state) or host.state is HostState.ACTIVE)

    assert states[:3] == [HostState.LOADING] * 3
    assert [cluster.fetch_offsets(group_id) for group_id in groups] == [{("t", 0): 1}] * 7


def test_consumers_are_assigned_anew_when_a_topic_moves_to_another_rack():
    cluster = a_cluster(brokers=1, release="4.3")
    cluster.add_brokers({102: "a", 103: "b"})
    update = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("group.version", 1, upgrade_type=1)])
    assert cluster.client(101).ask(update, 1).error_code == 0
    cluster.create("racked", replicas={0: [102]})

    def beat(epoch: int) -> int:
        names = {"subscribed_topic_names": ("racked",), "topic_partitions": []} if epoch == 0 else {}
        request = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id="m", member_epoch=epoch, rebalance_timeout_ms=60_000, **names
        )
        answer = cluster.ask("g", request, 1)
        assert answer.error_code == 0, answer
        return answer.member_epoch

    epoch = beat(0)
    assert beat(epoch) == epoch
    cluster.reassign("racked", [103])
    cluster.run_until(lambda: cluster.state("racked").replicas == (103,))
    cluster.run_until(lambda: beat(epoch) > epoch)
