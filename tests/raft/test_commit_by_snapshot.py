"""One replica of falkirk lowers the level of a quorum of real Kafka: the others get a snapshot, which commits it."""

import pytest
from raft_world import Faults, RaftWorld

from falkirk.protocol.messages import end_quorum_epoch_request
from falkirk.protocol.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.raft.context import TOPIC
from falkirk.raft.replication_leader import SnapshotOfferRefusedError
from falkirk.simulation.explorer.memory_log import LOWERING

OURS = 1
# For these real Kafka ends its process.
FATAL = ("raft-truncation-refused", "raft-snapshot-not-ahead", "raft-two-leaders")
FAULTS = Faults(loss=0.05, delay_max_ms=30, crash=0.02, cut=0.3, snapshot=0.05)


def quorum(voters, *, seed=1, faults=None, is_dynamic=False, observers=()):
    """A quorum in which all but one replica are real Kafka's, as far as a leader can tell."""
    world = RaftWorld(seed, faults=faults)
    nodes = range(1, voters + 1)
    (world.add_dynamic if is_dynamic else world.add_static)(nodes, observers)
    world.unmarked = {*nodes, *observers} - {OURS}
    world.unready = {*world.unmarked}
    world.start_all()
    return world


def led(world):
    """Let ours lead, and all follow."""
    for _ in range(50):
        world.run(2_000)
        leader = world.leader
        if leader is not None and leader.node_id == OURS and leader.replica.high_watermark == leader.log.end_offset:
            return leader
    raise AssertionError("ours does not lead")


def lower(world):
    world.append([b"before"])
    world.run(1_000)
    world.append([LOWERING])


@pytest.mark.parametrize("voters", [2, 3, 4])
def test_a_lowering_is_committed_once_voters_have_the_snapshot(voters):
    world = quorum(voters)
    ours = led(world)
    lower(world)
    world.run(3_000)
    end = ours.log.end_offset
    assert ours.replica.high_watermark == end - 1
    assert ours.replica.is_leader
    world.offer_lowering(OURS)
    world.run(2_000)
    assert ours.replica.high_watermark == end
    assert {host.log.latest_snapshot for node_id, host in world.hosts.items() if node_id != OURS} == {
        OffsetAndEpoch(end, ours.log.last_epoch)
    }


def test_five_voters_are_too_many():
    world = quorum(5)
    led(world)
    lower(world)
    with pytest.raises(SnapshotOfferRefusedError, match=r"of 5 voters too few .* at most 4 voters"):
        world.offer_lowering(OURS)


def test_two_replicas_of_falkirk_suffice_for_five_voters():
    world = quorum(5)
    led(world)
    world.unmarked.discard(2)
    lower(world)
    world.run(1_000)
    world.offer_lowering(OURS)
    world.run(2_000)
    assert world.hosts[OURS].replica.high_watermark == world.hosts[OURS].log.end_offset


def test_who_does_not_lead_offers_nothing():
    world = quorum(3)
    led(world)
    other = next(host for host in world.hosts.values() if host.node_id != OURS)
    with pytest.raises(SnapshotOfferRefusedError, match="does not lead in epoch"):
        other.replica.offer_snapshot(OffsetAndEpoch(1, 1))


def test_a_snapshot_ends_in_the_leaders_epoch_and_its_log():
    world = quorum(3)
    ours = led(world)
    end, epoch = ours.log.end_offset, ours.replica.epoch
    for wrong in (OffsetAndEpoch(end, epoch - 1), OffsetAndEpoch(end + 1, epoch), OffsetAndEpoch(0, epoch)):
        with pytest.raises(SnapshotOfferRefusedError, match="does not end in the log of epoch"):
            ours.replica.offer_snapshot(wrong)


def test_an_observer_waits_for_the_commit():
    world = quorum(3, observers=[4])
    ours = led(world)
    lower(world)
    world.run(1_000)
    world.cuts = {(OURS, 2), (2, OURS), (OURS, 3), (3, OURS)}
    world.offer_lowering(OURS)
    world.run(300)
    assert world.hosts[4].log.latest_snapshot is None
    assert ours.replica.is_leader


def test_voters_do_not_change_while_a_snapshot_is_offered():
    world = quorum(3, is_dynamic=True, observers=[4])
    led(world)
    lower(world)
    world.run(1_000)
    world.cuts = {(OURS, 2), (2, OURS), (OURS, 3), (3, OURS)}
    world.offer_lowering(OURS)
    key = world.hosts[4].key
    request = AddRaftVoterRequest(
        cluster_id="raft-world",
        voter_id=4,
        voter_directory_id=key.directory_id,
        listeners=[Listener(name="CONTROLLER", host="localhost", port=9004)],
    )
    answer = world.answers[world.request(OURS, request)]
    assert answer.error_message == ("Request timed out waiting for voters to commit a lowering of metadata.version")


def named_successor(world, leader):
    """Ask ours to succeed a leader from which all hear."""
    module = end_quorum_epoch_request
    partition = module.PartitionData(0, leader.node_id, leader.replica.epoch, (OURS,), [module.ReplicaInfo(OURS)])
    request = module.EndQuorumEpochRequest(None, [module.TopicData(TOPIC, [partition])])
    world.request(OURS, request)
    world.run(1_000)


@pytest.mark.parametrize("is_there_for_a_lift", [True, False])
def test_who_is_there_for_a_lift_leads_when_it_is_named_the_successor(is_there_for_a_lift):
    world = RaftWorld(1)
    world.add_static((1, 2, 3), succeeds_at_once=is_there_for_a_lift)
    world.start_all()
    world.run(5_000)
    if world.leader.node_id == OURS:
        world.crash(OURS)
        world.run(10_000)
    before = world.leader
    assert before.node_id != OURS
    epoch = before.replica.epoch
    named_successor(world, before)
    assert world.leader.node_id == (OURS if is_there_for_a_lift else before.node_id)
    assert world.leader.replica.epoch == epoch + is_there_for_a_lift


def seeds():
    for seed in range(40):
        yield pytest.param(seed, marks=[] if seed < 2 else [pytest.mark.full])


@pytest.mark.parametrize("seed", list(seeds()))
@pytest.mark.parametrize("voters", [3, 4])
def test_a_lowering_holds_or_is_cut_off_whatever_crashes(voters, seed):
    world = quorum(voters, seed=seed, faults=FAULTS, is_dynamic=seed % 2 == 1)
    lowered = 0

    def drive():
        nonlocal lowered
        ours = world.hosts[OURS]
        replica = ours.replica
        if replica is None or not replica.is_leader:
            return
        world.snapshot_behind_lowerings(OURS)
        lowerings = ours.log.lowerings
        if lowerings and not ours.log.has_provisional:
            world.offer_lowering(OURS)
        elif not lowerings and replica.high_watermark == ours.log.end_offset and lowered < 5:
            lowered += 1
            replica.append([LOWERING], world.now_ms)
            world.drain(ours)

    for _ in range(8):
        world.run(2_000, each_strike=drive)
        world.crash(world.random.choice(list(world.hosts)))
    world.heal()
    lowered = 5
    world.run(20_000, each_strike=drive)
    world.append([b"after"])
    world.run(5_000, each_strike=drive)
    ends = {(host.log.end_offset, host.log.last_epoch) for host in world.hosts.values()}
    assert len(ends) == 1, ends
    fatal = [fact for fact in world.facts if not fact.startswith(f"{OURS} ") and any(name in fact for name in FATAL)]
    assert fatal == []
