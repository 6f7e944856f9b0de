"""Quorums under random faults keep Kafka's invariants, and go on when the faults end."""

import random
from dataclasses import dataclass

import pytest
from raft_world import Faults, RaftWorld

SEEDS = range(80)
SEEDS_IN_FULL = range(1_000, 3_000)
_FAST = {
    "election_timeout_ms": 200,
    "election_backoff_max_ms": 200,
    "fetch_timeout_ms": 400,
    "request_timeout_ms": 300,
    "fetch_max_wait_ms": 100,
    "snapshot_fetch_bytes_max": 16,
}
# What releases 3.7 to 4.0 speak. At kraft.version 1 the others must know of directory ids, so begin with 3.9.
_OLDER_STATIC = {"VoteRequest": 0, "FetchRequest": 12, "BeginQuorumEpochRequest": 0, "FetchSnapshotRequest": 0}
_OLDER_DYNAMIC = {"VoteRequest": 1, "FetchRequest": 17, "AddRaftVoterRequest": 0}


@dataclass
class Scenario:
    world: RaftWorld
    is_dynamic: bool


def make_scenario(seed: int) -> Scenario:
    chance = random.Random(seed)
    is_dynamic = chance.random() < 0.5
    faults = Faults(
        loss=chance.choice([0, 0, 0.02, 0.1]),
        duplication=chance.choice([0, 0.05]),
        delay_max_ms=chance.choice([2, 10, 80]),
        crash=chance.choice([0, 0.005, 0.02]),
        cut=chance.choice([0, 0.1, 0.3]),
        snapshot=chance.choice([0, 0.1]),
        wipe=chance.choice([0, 0.1]) if is_dynamic else 0,
        change_voters=chance.choice([0, 0.3]) if is_dynamic else 0,
    )
    world = RaftWorld(seed, faults=faults)
    voters = range(1, 1 + chance.choice([1, 2, 3, 3, 3, 4, 5]))
    observers = range(voters.stop, voters.stop + chance.choice([0, 1, 2]))
    settings = {**_FAST, "has_pre_vote": chance.random() < 0.7}
    if is_dynamic:
        is_replaced = faults.wipe > 0 or chance.random() < 0.5
        world.add_dynamic(voters, observers, auto_join=is_replaced, **settings)
    else:
        if chance.random() < 0.4:
            faults.raise_kraft_version = 0.3
            settings["updates_kraft_version"] = True
        world.add_static(voters, observers, **settings)
    for host in world.hosts.values():
        becomes_dynamic = is_dynamic or faults.raise_kraft_version > 0
        if chance.random() < 0.3:
            host.versions.update(_OLDER_DYNAMIC if becomes_dynamic else _OLDER_STATIC)
        if chance.random() < 0.3:
            world.unready.add(host.node_id)
    return Scenario(world, is_dynamic)


def run_scenario(seed: int) -> RaftWorld:
    world = make_scenario(seed).world
    chance = random.Random(seed)

    def append() -> None:
        for _ in range(chance.choice([0, 1, 3])):
            world.append([b"value %d" % world.now_ms] * chance.choice([1, 2]))

    world.start_all()
    world.run(3_000, each_strike=append)
    world.heal()
    world.run(4_000)
    assert world.append([b"after the faults"]) is not None, "no leader is elected when the faults have ended"
    world.run(1_500)
    leader = world.leader
    assert leader is not None
    for host in world.hosts.values():
        assert host.replica is not None
        assert host.log.end_offset == leader.log.end_offset
        assert host.replica.high_watermark == leader.log.end_offset
        assert host.log.read(host.log.start_offset, 1 << 30) == leader.log.read(host.log.start_offset, 1 << 30) or (
            host.log.start_offset < leader.log.start_offset
        )
    return world


def run_scenarios(seeds):
    for seed in seeds:
        try:
            run_scenario(seed)
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.slow
@pytest.mark.parametrize("eighth", range(8))
def test_a_quorum_keeps_its_invariants_under_faults_and_goes_on_after_them(eighth):
    run_scenarios(SEEDS[eighth::8])


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("part", range(20))
def test_a_quorum_keeps_its_invariants_under_faults_of_many_more_seeds(part):
    run_scenarios(SEEDS_IN_FULL[part::20])


@pytest.mark.slow
def test_the_seeds_reach_what_they_are_meant_to_reach():
    events = {fact.split()[1] for seed in SEEDS[:30] for fact in run_scenario(seed).facts}
    assert events >= {
        "raft-state",
        "vote-granted",
        "raft-truncated",
        "raft-quorum-lost",
        "raft-snapshot-fetch",
        "raft-snapshot-installed",
        "raft-voter-added",
        "raft-voter-removed",
        "election-deferred",
        "kraft-version-raised",
    }
    assert not events & {"raft-two-leaders", "raft-truncation-refused", "raft-records-refused"}


def test_a_seed_replays_exactly():
    assert run_scenario(7).facts == run_scenario(7).facts
