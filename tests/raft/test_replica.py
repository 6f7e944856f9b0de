"""What single requests are answered: error codes, fields of each version, what waits and for how long."""

from dataclasses import replace

import pytest
from raft_world import CLUSTER_ID, RaftWorld, directory_id

from falkirk.protocol import codec
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    begin_quorum_epoch_request,
    describe_quorum_request,
    end_quorum_epoch_request,
    fetch_request,
    fetch_snapshot_request,
    update_raft_voter_request,
    vote_request,
)
from falkirk.protocol.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from falkirk.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.raft.leader_discovery import Outcome, handle_common
from falkirk.raft.output import ElectionState
from falkirk.raft.replication_follower import fit_fetch_request
from falkirk.raft.replication_leader import BatchTooLargeError, NotLeaderError
from falkirk.simulation.explorer.memory_log import MemoryLog

TOPIC = "__cluster_metadata"
TOPIC_ID = bytes(15) + b"\x01"

# No epoch follows it: epochs have 32 bits.
LAST_EPOCH = (1 << 31) - 1


@pytest.fixture
def world():
    """Node 1 leads epoch 1 of three static voters; its log ends at 2."""
    world = RaftWorld(1, is_manual=True)
    world.add_static([1, 2, 3], [4])
    return elected(world)


@pytest.fixture
def dynamic_world():
    world = RaftWorld(1, is_manual=True)
    world.add_dynamic([1, 2, 3], [4])
    return elected(world)


def elected(world):
    world.start_all()
    for _ in range(50):
        if world.leader is not None and world.leader.replica.high_watermark:
            break
        world.now_ms = max(world.now_ms, world.hosts[1].wakeup_ms)
        world.tick(1)
        deliver_all(world)
    world.append([b"x"])
    deliver_all(world)
    assert world.leader.node_id == 1
    return world


def test_a_leader_at_no_bootstrap_address_announces_itself_to_registered_controllers_that_do_not_vote():
    world = RaftWorld(1, is_manual=True)
    world.add_dynamic([1], [2])
    # Nobody listens at the only address that it is configured with.
    world.hosts[2].config = replace(world.hosts[2].config, bootstrap_servers=(Endpoint("localhost", 9009),))
    world.start_all()
    pass_time(world, 5_000)
    assert world.hosts[2].replica.leader.leader_id is None

    world.hosts[1].replica.set_registered_controllers({1: Endpoint("localhost", 9001), 2: Endpoint("localhost", 9002)})
    pass_time(world, 2_000)
    assert world.hosts[2].replica.leader.leader_id == 1
    assert world.hosts[2].replica.high_watermark == world.hosts[1].replica.high_watermark
    # It forgets the leader when it restarts, and is told again since it does not fetch.
    world.crash(2)
    world.hosts[2].log.write_election_state(ElectionState(epoch=0))
    world.start(2)
    pass_time(world, 2_000)
    assert world.hosts[2].replica.leader.leader_id == 1


def test_a_registered_controller_that_is_gone_is_told_ever_more_rarely_until_it_fetches():
    world = RaftWorld(1, is_manual=True)
    world.add_dynamic([1], [2])
    world.hosts[2].config = replace(world.hosts[2].config, bootstrap_servers=(Endpoint("localhost", 9009),))
    world.start_all()
    world.crash(2)
    failures = []
    fail = world._fail
    world._fail = lambda message: (failures.append(message.name), fail(message))
    pass_time(world, 2_000)
    world.hosts[1].replica.set_registered_controllers({2: Endpoint("localhost", 9002)})
    pass_time(world, 600_000)
    assert 10 <= failures.count("BeginQuorumEpochRequest") <= 20
    world.start(2)
    pass_time(world, 61_000)
    assert world.hosts[2].replica.leader.leader_id == 1


def test_at_kraft_version_0_the_leader_announces_itself_to_voters_only(world):
    world.hosts[1].replica.set_registered_controllers({4: Endpoint("localhost", 9004)})
    world.now_ms += 1_500
    world.tick(1)
    announced = {message.target for message in world.messages if message.name == "BeginQuorumEpochRequest"}
    assert announced == {2, 3}


def pass_time(world, duration_ms):
    end_ms = world.now_ms + duration_ms
    deliver_all(world)
    while (next_ms := min(host.wakeup_ms for host in world.hosts.values())) <= end_ms:
        world.now_ms = max(world.now_ms, next_ms)
        for node_id, host in world.hosts.items():
            if host.wakeup_ms <= world.now_ms:
                world.tick(node_id)
        deliver_all(world)
    world.now_ms = end_ms


def deliver_all(world):
    while world.messages:
        world.deliver(world.messages.pop(0))


def ask(world, node_id, request, version=None):
    token = world.request(node_id, request, version)
    return world.answers.pop(token, None)


def fetch(*, offset=2, epoch=1, leader_epoch=1, replica_id=2, max_wait_ms=0, high_watermark=None, **fields):
    partition = fetch_request.FetchPartition(
        current_leader_epoch=leader_epoch, fetch_offset=offset, last_fetched_epoch=epoch
    )
    if high_watermark is not None:
        partition.high_watermark = high_watermark
    topic = fetch_request.FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])
    request = fetch_request.FetchRequest(
        cluster_id=CLUSTER_ID,
        replica_id=replica_id,
        replica_state=fetch_request.ReplicaState(replica_id=replica_id),
        max_wait_ms=max_wait_ms,
        topics=[topic],
    )
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def vote(
    *, epoch=2, candidate=2, last_epoch=1, last_offset=2, pre_vote=False, voter_id=1, disk=bytes(16), cluster=CLUSTER_ID
):
    partition = vote_request.PartitionData(
        replica_epoch=epoch,
        replica_id=candidate,
        replica_directory_id=directory_id(candidate if candidate > 0 else 1),
        voter_directory_id=disk,
        last_offset_epoch=last_epoch,
        last_offset=last_offset,
        pre_vote=pre_vote,
    )
    topic = vote_request.TopicData(topic_name=TOPIC, partitions=[partition])
    return vote_request.VoteRequest(cluster_id=cluster, voter_id=voter_id, topics=[topic])


def partition_of(response):
    topics = response.topics if hasattr(response, "topics") else response.responses
    return topics[0].partitions[0]


@pytest.mark.parametrize(
    ("node_id", "fields", "error"),
    [
        (1, {"leader_epoch": 0, "epoch": 0}, ErrorCode.FENCED_LEADER_EPOCH),
        (1, {"leader_epoch": 2}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (2, {"replica_id": 3}, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (1, {"offset": -1}, ErrorCode.INVALID_REQUEST),
        (1, {"epoch": -1}, ErrorCode.INVALID_REQUEST),
        (1, {"epoch": 2}, ErrorCode.INVALID_REQUEST),
        (1, {"max_wait_ms": -1}, ErrorCode.INVALID_REQUEST),
        (1, {"replica_id": 1}, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_fetch_that_can_not_be_served_names_the_leader(world, node_id, fields, error):
    answer = ask(world, node_id, fetch(**fields))
    partition = partition_of(answer)
    assert partition.error_code == error
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (1, 1)
    assert [(each.node_id, each.port) for each in answer.node_endpoints] == [(1, 9001)]


def test_a_fetch_of_another_cluster_is_refused_as_a_whole(world):
    assert ask(world, 1, fetch(cluster_id="other")).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert partition_of(ask(world, 1, fetch(cluster_id=None))).error_code == ErrorCode.NONE


def test_a_fetch_of_another_topic_is_refused_as_a_whole(world):
    request = fetch()
    request.topics[0].topic_id = bytes(16)
    assert ask(world, 1, request).error_code == ErrorCode.INVALID_REQUEST
    assert ask(world, 1, fetch(topics=[])).error_code == ErrorCode.INVALID_REQUEST
    request.topics[0].topic = "other"
    assert ask(world, 1, request, 12).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", range(12, 19))
def test_a_fetch_of_each_version_is_answered_in_that_version(world, version):
    answer = ask(world, 1, fetch(offset=0, epoch=0), version)
    decoded = codec.decode(type(answer), version, codec.encode(answer, version))
    assert partition_of(decoded).records == world.hosts[1].log.read(0, 1 << 20)
    assert partition_of(decoded).current_leader.leader_id == 1
    assert bool(decoded.node_endpoints) == (version >= 17)


@pytest.mark.parametrize("version", range(12, 19))
def test_a_followers_fetch_names_the_replica_in_each_version(world, version):
    sent = world.hosts[2].replica._following._fetch_request()
    decoded = codec.decode(type(sent), version, codec.encode(fit_fetch_request(sent, version), version))
    named = decoded.replica_state.replica_id if version >= 15 else decoded.replica_id
    assert named == 2


def test_a_fetch_beyond_the_log_is_told_where_the_logs_part(world):
    diverging = partition_of(ask(world, 1, fetch(offset=9))).diverging_epoch
    assert (diverging.epoch, diverging.end_offset) == (1, 2)


def test_a_fetch_behind_the_start_of_the_log_is_told_of_the_snapshot(world):
    world.snapshot(1)
    for request in (fetch(offset=0, epoch=0), fetch(offset=1), fetch(offset=2, epoch=0)):
        snapshot = partition_of(ask(world, 1, request)).snapshot_id
        assert (snapshot.end_offset, snapshot.epoch) == (2, 1)


def test_a_fetch_at_the_end_waits_for_data(world):
    token = world.request(1, fetch(max_wait_ms=500, high_watermark=2))
    assert token not in world.answers
    world.append([b"y"])
    assert partition_of(world.answers[token]).records == world.hosts[1].log.read(2, 1 << 20)


def test_a_fetch_at_the_end_is_answered_with_nothing_when_its_time_is_over(world):
    token = world.request(1, fetch(max_wait_ms=500, high_watermark=2, replica_id=4))
    world.now_ms += 499
    world.tick(1)
    assert token not in world.answers
    world.now_ms += 1
    world.tick(1)
    assert partition_of(world.answers[token]).records == b""


@pytest.mark.parametrize("version", [17, 18])
def test_a_follower_without_the_high_watermark_does_not_wait(world, version):
    known = -1 if version == 18 else None
    answer = ask(world, 1, fetch(max_wait_ms=500, high_watermark=known, replica_id=9), version)
    assert partition_of(answer).high_watermark == 2
    # Before version 18 we remember what we have said.
    again = ask(world, 1, fetch(max_wait_ms=500, high_watermark=2 if version == 18 else None, replica_id=9), version)
    assert again is None


def test_a_waiting_fetch_is_sent_on_when_the_leader_resigns(world):
    token = world.request(1, fetch(max_wait_ms=500, high_watermark=2))
    world.hosts[1].replica.resign(world.now_ms)
    world.drain(world.hosts[1])
    assert partition_of(world.answers[token]).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_whose_connection_is_gone_is_forgotten(world):
    token = world.request(1, fetch(max_wait_ms=500, high_watermark=2))
    world.hosts[1].replica.connection_lost(token)
    world.append([b"y"])
    assert token not in world.answers


@pytest.mark.parametrize(
    ("fields", "error", "is_granted"),
    [
        ({}, ErrorCode.NONE, True),
        ({"disk": directory_id(2)}, ErrorCode.INVALID_VOTER_KEY, False),
        ({"voter_id": 3}, ErrorCode.INVALID_VOTER_KEY, False),
        ({"voter_id": -1}, ErrorCode.NONE, True),
        ({"disk": directory_id(1)}, ErrorCode.NONE, True),
        ({"last_offset": 1}, ErrorCode.NONE, False),
        ({"epoch": 1, "last_epoch": 0}, ErrorCode.NONE, False),
        ({"epoch": 0, "last_epoch": -1}, ErrorCode.INVALID_REQUEST, False),
        ({"epoch": 1}, ErrorCode.INVALID_REQUEST, False),
        ({"last_offset": -1}, ErrorCode.INVALID_REQUEST, False),
        ({"candidate": -1}, ErrorCode.INVALID_REQUEST, False),
        ({"epoch": 1, "pre_vote": True}, ErrorCode.NONE, False),
    ],
)
def test_a_leader_answers_votes_as_kafka_does(world, fields, error, is_granted):
    partition = partition_of(ask(world, 1, vote(**fields)))
    assert (partition.error_code, partition.vote_granted) == (error, is_granted)


def test_a_vote_of_an_epoch_that_is_over_is_fenced(world):
    ask(world, 1, vote(epoch=5))
    answer = partition_of(ask(world, 1, vote(epoch=4)))
    assert (answer.error_code, answer.leader_epoch) == (ErrorCode.FENCED_LEADER_EPOCH, 5)


def test_one_vote_is_given_in_an_epoch_and_to_the_same_disk_again(world):
    assert partition_of(ask(world, 1, vote(candidate=2))).vote_granted
    assert world.hosts[1].log.disk.election_state.voted_id == 2
    assert not partition_of(ask(world, 1, vote(candidate=3))).vote_granted
    assert partition_of(ask(world, 1, vote(candidate=2))).vote_granted
    request = vote(candidate=2)
    request.topics[0].partitions[0].replica_directory_id = directory_id(2, 9)
    assert not partition_of(ask(world, 1, request)).vote_granted


def test_a_vote_is_remembered_over_a_restart(world):
    assert partition_of(ask(world, 1, vote(candidate=2))).vote_granted
    world.crash(1)
    world.start(1)
    assert not partition_of(ask(world, 1, vote(candidate=3))).vote_granted
    assert partition_of(ask(world, 1, vote(candidate=2))).vote_granted


def test_a_pre_vote_changes_nothing(world):
    before = world.hosts[2].log.disk.election_state
    assert not partition_of(ask(world, 2, vote(voter_id=2, epoch=1, candidate=3, pre_vote=True))).vote_granted
    assert world.hosts[2].log.disk.election_state == before


def test_an_observer_whose_leader_is_gone_grants_a_pre_vote(dynamic_world):
    world = dynamic_world
    pass_time(world, 1_000)
    asked = vote(voter_id=4, epoch=1, candidate=3, last_offset=1_000, pre_vote=True)
    assert not partition_of(ask(world, 4, asked)).vote_granted
    # Its vote may be needed: the leader may have made it a voter with a record that it has not.
    world.now_ms += world.hosts[4].config.fetch_timeout_ms
    assert partition_of(ask(world, 4, asked)).vote_granted


@pytest.mark.parametrize("version", range(3))
def test_a_vote_of_each_version_is_answered_in_that_version(world, version):
    answer = ask(world, 2, vote(voter_id=2, epoch=1, candidate=3, last_epoch=0), version)
    decoded = codec.decode(type(answer), version, codec.encode(answer, version))
    assert partition_of(decoded).leader_id == 1
    assert bool(decoded.node_endpoints) == (version >= 1)


def begin(leader_id=2, epoch=2, voter_id=1, disk=bytes(16), cluster=CLUSTER_ID):
    module = begin_quorum_epoch_request
    partition = module.PartitionData(leader_id=leader_id, leader_epoch=epoch, voter_directory_id=disk)
    topic = module.TopicData(topic_name=TOPIC, partitions=[partition])
    return module.BeginQuorumEpochRequest(cluster_id=cluster, voter_id=voter_id, topics=[topic])


@pytest.mark.parametrize("ask_with", [lambda: vote(epoch=LAST_EPOCH), lambda: begin(epoch=LAST_EPOCH)])
def test_the_epoch_that_none_can_follow_is_refused(world, ask_with):
    answer = partition_of(ask(world, 1, ask_with()))
    assert (answer.error_code, answer.leader_epoch) == (ErrorCode.INVALID_REQUEST, 1)


def test_the_epoch_that_none_can_follow_is_not_learned_from_an_answer(world):
    replica = world.hosts[2].replica
    outcome = handle_common(
        replica._context, world.now_ms, error=ErrorCode.NONE, leader_id=3, epoch=LAST_EPOCH, endpoints=()
    )
    assert (outcome, replica.epoch) == (Outcome.RETRY, 1)


def set_epoch(host, epoch):
    disk = host.log.disk
    host.log = MemoryLog(replace(disk, election_state=replace(disk.election_state, epoch=epoch)))


@pytest.mark.parametrize("has_pre_vote", [False, True])
@pytest.mark.parametrize("voters", [[1], [1, 2, 3]])
def test_the_last_epoch_is_not_left_and_ends_no_replica(voters, has_pre_vote):
    world = RaftWorld(1, is_manual=True)
    world.add_static(voters, has_pre_vote=has_pre_vote)
    elected(world)
    for node_id in voters:
        world.crash(node_id)
        set_epoch(world.hosts[node_id], LAST_EPOCH - 1)
        world.start(node_id)
    pass_time(world, 60_000)
    assert {world.hosts[node_id].replica.epoch for node_id in voters} == {LAST_EPOCH - 1}
    facts = [fact for fact in world.facts if "raft-epochs-used-up" in fact]
    assert len(voters) <= len(facts) < 1_000


def test_a_new_leader_is_followed_where_the_voters_say_it_listens(world):
    answer = ask(world, 1, begin(), 0)
    assert partition_of(answer).error_code == ErrorCode.NONE
    assert world.hosts[1].replica.leader.leader_id == 2
    assert world.hosts[1].replica.leader_endpoint.port == 9002


def test_a_second_leader_of_one_epoch_is_not_followed(world):
    assert partition_of(ask(world, 2, begin(leader_id=3, epoch=1, voter_id=2))).leader_id == 1
    assert world.hosts[2].replica.leader.leader_id == 1
    assert any("raft-two-leaders" in fact for fact in world.facts)


def test_a_leader_whose_disk_was_wiped_hears_that_it_leads_and_does_not(dynamic_world):
    world = dynamic_world
    world.crash(1)
    world.wipe(1)
    world.start(1)
    for _ in range(3):
        world.now_ms = max(world.now_ms, world.hosts[1].wakeup_ms)
        world.tick(1)
        deliver_all(world)
    assert not world.hosts[1].replica.is_leader
    assert any("raft-led-in-a-former-life" in fact for fact in world.facts)
    assert not any("raft-two-leaders" in fact for fact in world.facts)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"epoch": 0}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_id": -1}, ErrorCode.INVALID_REQUEST),
        ({"disk": directory_id(3)}, ErrorCode.INVALID_VOTER_KEY),
    ],
)
def test_a_begin_of_an_epoch_that_can_not_be_is_refused(world, fields, error):
    assert partition_of(ask(world, 1, begin(**fields))).error_code == error


def test_messages_of_another_cluster_are_refused(world):
    end = end_quorum_epoch_request.EndQuorumEpochRequest(cluster_id="other")
    snapshot = fetch_snapshot_request.FetchSnapshotRequest(cluster_id="other")
    add, remove = AddRaftVoterRequest(cluster_id="other"), RemoveRaftVoterRequest(cluster_id="other")
    update = update_raft_voter_request.UpdateRaftVoterRequest(cluster_id="other", current_leader_epoch=1)
    for request in (vote(cluster="other"), begin(cluster="other"), end, snapshot, add, remove, update):
        assert ask(world, 1, request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


@pytest.mark.parametrize("version", range(2))
def test_the_end_of_an_epoch_is_followed_by_a_pre_vote_of_who_is_preferred(world, version):
    module = end_quorum_epoch_request
    partition = module.PartitionData(
        leader_id=1,
        leader_epoch=1,
        preferred_successors=(3, 2),
        preferred_candidates=[module.ReplicaInfo(candidate_id=node_id) for node_id in (3, 2)],
    )
    topic = module.TopicData(topic_name=TOPIC, partitions=[partition])
    request = codec.decode(
        module.EndQuorumEpochRequest,
        version,
        codec.encode(module.EndQuorumEpochRequest(cluster_id=CLUSTER_ID, topics=[topic]), version),
    )
    for node_id in (2, 3):
        ask(world, node_id, request, version)
    asking = {message.source for message in world.messages if message.name == "VoteRequest"}
    assert asking == {3}


def chunk_request(*, offset=2, epoch=1, position=0, leader_epoch=1, name=TOPIC, max_bytes=8):
    module = fetch_snapshot_request
    partition = module.PartitionSnapshot(
        current_leader_epoch=leader_epoch,
        snapshot_id=module.SnapshotId(end_offset=offset, epoch=epoch),
        position=position,
    )
    topic = module.TopicSnapshot(name=name, partitions=[partition])
    return module.FetchSnapshotRequest(cluster_id=CLUSTER_ID, replica_id=4, max_bytes=max_bytes, topics=[topic])


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"offset": 3}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"position": -1}, ErrorCode.POSITION_OUT_OF_RANGE),
        ({"position": 1_000}, ErrorCode.POSITION_OUT_OF_RANGE),
        ({"position": 1 << 40}, ErrorCode.POSITION_OUT_OF_RANGE),
        ({"leader_epoch": 0}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 2}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"name": "other"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_part_that_can_not_be_given_is_refused(world, fields, error):
    world.snapshot(1)
    assert partition_of(ask(world, 1, chunk_request(**fields))).error_code == error


def test_a_part_of_a_snapshot_says_where_it_stands_and_how_much_there_is(world):
    world.snapshot(1)
    whole = world.hosts[1].log.disk.snapshots[OffsetAndEpoch(2, 1)]
    part = partition_of(ask(world, 1, chunk_request(position=3)))
    assert (part.position, part.size, part.unaligned_records) == (3, len(whole), whole[3:11])


def test_the_bootstrap_snapshot_is_not_given_away(dynamic_world):
    answer = partition_of(ask(dynamic_world, 1, chunk_request(offset=0, epoch=0)))
    assert answer.error_code == ErrorCode.SNAPSHOT_NOT_FOUND


def describe(topic=TOPIC, partition=0):
    module = describe_quorum_request
    data = module.TopicData(topic_name=topic, partitions=[module.PartitionData(partition_index=partition)])
    return module.DescribeQuorumRequest(topics=[data])


@pytest.mark.parametrize("version", range(3))
def test_the_leader_describes_voters_and_observers_in_each_version(dynamic_world, version):
    world = dynamic_world
    # Node 4 observes.
    world.tick(4)
    deliver_all(world)
    answer = ask(world, 1, describe(), version)
    decoded = codec.decode(type(answer), version, codec.encode(answer, version))
    partition = partition_of(decoded)
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (1, 1, 4)
    assert [(each.replica_id, each.log_end_offset) for each in partition.current_voters] == [(1, 4), (2, 4), (3, 4)]
    if version >= 1:
        assert partition.current_voters[0].last_fetch_timestamp == world.now_ms
        assert partition.current_voters[1].last_caught_up_timestamp > 0
    assert [each.replica_id for each in partition.observers] == [4]
    keys = [each.replica_directory_id for each in partition.current_voters]
    assert keys == ([directory_id(1), directory_id(2), directory_id(3)] if version >= 2 else [bytes(16)] * 3)
    assert [(node.node_id, node.listeners[0].port) for node in decoded.nodes] == (
        [(1, 9001), (2, 9002), (3, 9003)] if version >= 2 else []
    )


def test_who_does_not_lead_does_not_describe(world):
    assert partition_of(ask(world, 2, describe())).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_only_the_metadata_partition_is_described(world):
    for request in (describe("other"), describe(partition=1)):
        assert partition_of(ask(world, 1, request)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_observer_that_is_gone_is_described_no_more(world):
    ask(world, 1, fetch(replica_id=8))
    assert 8 in [each.replica_id for each in partition_of(ask(world, 1, describe())).observers]
    world.now_ms += 300_000
    observers = partition_of(ask(world, 1, describe())).observers if world.leader else []
    assert 8 not in [each.replica_id for each in observers]


def test_voters_can_not_be_changed_at_level_0(world):
    for request in (
        add_request(4),
        RemoveRaftVoterRequest(cluster_id=CLUSTER_ID, voter_id=2, voter_directory_id=directory_id(2)),
        update_request(2),
    ):
        assert ask(world, 1, request).error_code == ErrorCode.UNSUPPORTED_VERSION


def add_request(node_id, listener="CONTROLLER", disk=None):
    return AddRaftVoterRequest(
        cluster_id=CLUSTER_ID,
        voter_id=node_id,
        voter_directory_id=directory_id(node_id) if disk is None else disk,
        listeners=[Listener(name=listener, host="localhost", port=9000 + node_id)],
    )


def update_request(node_id, port=9100, versions=(0, 1), disk=None):
    module = update_raft_voter_request
    return module.UpdateRaftVoterRequest(
        cluster_id=CLUSTER_ID,
        current_leader_epoch=1,
        voter_id=node_id,
        voter_directory_id=directory_id(node_id) if disk is None else disk,
        listeners=[module.Listener(name="CONTROLLER", host="localhost", port=port)],
        kraft_version_feature=module.KRaftVersionFeature(
            min_supported_version=versions[0], max_supported_version=versions[1]
        ),
    )


def test_additions_that_can_not_be_are_refused(dynamic_world):
    world = dynamic_world
    assert ask(world, 2, add_request(4)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ask(world, 1, add_request(4, "OTHER")).error_code == ErrorCode.INVALID_REQUEST
    assert ask(world, 1, add_request(4, disk=bytes(16))).error_code == ErrorCode.INVALID_REQUEST
    assert ask(world, 1, add_request(3, disk=directory_id(3, 2))).error_code == ErrorCode.DUPLICATE_VOTER


def test_a_replica_that_never_fetched_is_not_added(dynamic_world):
    world = dynamic_world
    world.crash(4)
    world.start(4)
    world.hosts[1].replica._quorum.state.observers.clear()
    token = world.request(1, add_request(4))
    asked = next(message for message in world.messages if message.name == "ApiVersionsRequest")
    world.messages = [asked]
    world.deliver(world.messages.pop())
    world.deliver(next(message for message in world.messages if message.name == "ApiVersionsResponse"))
    assert world.answers[token].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert "lagging behind" in world.answers[token].error_message


def test_a_new_voter_that_does_not_answer_is_given_up(dynamic_world):
    world = dynamic_world
    token = world.request(1, add_request(4))
    world.crash(4)
    deliver_all(world)
    assert world.answers[token].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert 4 not in world.hosts[1].replica.voters


def test_a_change_that_is_not_committed_in_time_is_answered_so_and_stays_in_force(dynamic_world):
    world = dynamic_world
    request = RemoveRaftVoterRequest(cluster_id=CLUSTER_ID, voter_id=3, voter_directory_id=directory_id(3))
    token = world.request(1, request)
    world.messages.clear()
    world.now_ms += 2_000
    world.tick(1)
    assert world.answers[token].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert sorted(world.hosts[1].replica.voters) == [1, 2]
    again = ask(world, 1, RemoveRaftVoterRequest(cluster_id=CLUSTER_ID, voter_id=2, voter_directory_id=directory_id(2)))
    assert again.error_code == ErrorCode.REQUEST_TIMED_OUT


def test_a_change_is_answered_when_another_leader_is_elected(dynamic_world):
    world = dynamic_world
    request = RemoveRaftVoterRequest(cluster_id=CLUSTER_ID, voter_id=3, voter_directory_id=directory_id(3))
    token = world.request(1, request)
    ask(world, 1, begin())
    assert world.answers[token].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_update_is_written_and_answered_at_once(dynamic_world):
    world = dynamic_world
    answer = ask(world, 1, update_request(2))
    assert answer.error_code == ErrorCode.NONE
    assert (answer.current_leader.leader_id, answer.current_leader.port) == (1, 9001)
    assert world.hosts[1].replica.voters[2].listeners["CONTROLLER"].port == 9100


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (update_request(4), ErrorCode.VOTER_NOT_FOUND),
        (update_request(2, disk=directory_id(2, 2)), ErrorCode.VOTER_NOT_FOUND),
        (update_request(2, versions=(0, 0)), ErrorCode.INVALID_REQUEST),
        (update_request(2, versions=(1, 0)), ErrorCode.INVALID_REQUEST),
    ],
)
def test_updates_that_can_not_be_are_refused(dynamic_world, request_, error):
    assert ask(dynamic_world, 1, request_).error_code == error


def test_a_voter_that_listens_elsewhere_tells_the_leader(dynamic_world):
    world = dynamic_world
    world.crash(2)
    world.hosts[2].config = replace(world.hosts[2].config, listeners={"CONTROLLER": Endpoint("elsewhere", 9002)})
    world.start(2)
    assert world.hosts[1].replica.voters[2].listeners["CONTROLLER"].host == "localhost"
    for _ in range(5):
        deliver_all(world)
        world.now_ms += 500
        # Fetches that wait are answered, and so followers go on to follow.
        world.tick(1)
    deliver_all(world)
    assert world.hosts[1].replica.voters[2].listeners["CONTROLLER"] == Endpoint("elsewhere", 9002)


def test_only_the_leader_appends_and_no_more_than_a_batch_holds(world):
    with pytest.raises(NotLeaderError) as refused:
        world.hosts[2].replica.append([b"x"], world.now_ms)
    assert refused.value.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    leader = world.hosts[1].replica
    before = leader.end_offset
    with pytest.raises(BatchTooLargeError):
        leader.append([bytes(1 << 20)] * 8, world.now_ms)
    assert leader.end_offset == before
    assert leader.append([b"a", b"b"], world.now_ms) == before
    assert leader.append([b"c"], world.now_ms) == before + 2


def test_a_replica_that_shuts_down_hands_over_and_is_done_when_another_leads(world):
    leader = world.hosts[1]
    leader.replica.shutdown(world.now_ms)
    world.drain(leader)
    assert not leader.replica.is_leader
    assert leader.replica.leader.leader_id is None
    assert not leader.replica.is_shut_down
    deliver_all(world)
    assert leader.replica.is_shut_down
    assert {world.hosts[node_id].replica.leader.leader_id for node_id in (1, 2, 3)} == {2}


def test_a_single_voter_leads_at_once_and_commits_alone():
    world = RaftWorld(1, is_manual=True)
    world.add_static([1])
    world.start(1)
    replica = world.hosts[1].replica
    assert (replica.is_leader, replica.epoch, replica.high_watermark) == (True, 1, 1)
    world.append([b"x"])
    assert replica.high_watermark == 2
    assert replica.leader.epoch_start_offset == 0
    world.crash(1)
    world.start(1)
    assert (world.hosts[1].replica.epoch, world.hosts[1].replica.high_watermark) == (2, 3)
