"""Brokers on a ZooKeeper of values: seeds that must pass, replays that must be the same, states that must be met."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from simulated_seeds import assert_passed, passed, reach

from falkirk.simulation.machine.world import World
from falkirk.simulation.zookeeper.run import simulate
from falkirk.simulation.zookeeper.scenario import (
    BROKEN_SESSIONS,
    CRASHES,
    KINDS,
    SLOW_ANSWERS,
    ZooKeeperScenario,
)
from falkirk.simulation.zookeeper.world.marks import ZOOKEEPER_MARKS

CHUNKS = 6
SEEDS_IN_A_CHUNK = 10
LONG_CHUNKS = 40
SEEDS_IN_A_LONG_CHUNK = 50


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_happens_no_answer_is_untrue_and_all_agree_in_the_end(chunk):
    passed(simulate, range(chunk * SEEDS_IN_A_CHUNK, (chunk + 1) * SEEDS_IN_A_CHUNK))


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("chunk", range(LONG_CHUNKS))
def test_whatever_happens_for_long_no_answer_is_untrue_and_all_agree_in_the_end(chunk):
    first = 1000 + chunk * SEEDS_IN_A_LONG_CHUNK
    passed(simulate, range(first, first + SEEDS_IN_A_LONG_CHUNK))


@pytest.mark.slow
@pytest.mark.full
def test_all_states_worth_testing_are_reached():
    reach(simulate, range(10_000, 10_600), ZOOKEEPER_MARKS)


def scenario_of(seed: int) -> ZooKeeperScenario:
    return ZooKeeperScenario.of(World(seed).chance("scenario"))


@pytest.mark.slow
def test_a_controller_may_die_or_lose_its_connection_at_any_moment_of_a_write():
    """KIP-584, guarantees: what is told as done was done, what is refused was not, though answers get lost."""
    marks: Counter[str] = Counter()
    for seed in range(4):
        kinds = frozenset({SLOW_ANSWERS, BROKEN_SESSIONS, CRASHES})
        scenario = replace(scenario_of(seed), kinds=kinds, interval_ms=300, update_interval_ms=60, faults_ms=6000)
        result = simulate(seed, keeps_timeline=False, scenario=scenario)
        assert_passed(result)
        marks.update(result.marks)
    assert marks["controller crashed"] > 0
    assert marks["write lost after its effect"] > 0
    assert marks["update answered NONE"] > 0


def test_where_nothing_goes_wrong_only_incompatible_nodes_stop_and_nobody_is_fenced():
    scenario = replace(scenario_of(1), generations=(1, 1, 1), releases=("3.7", "3.8", "3.9"), is_migrating=False)
    result = simulate(1, keeps_timeline=False, scenario=replace(scenario, kinds=frozenset()))
    assert_passed(result)
    assert result.counts["starts"] == 3 + 4  # brokers, administrators and clients
    assert result.counts["elections"] == 1
    assert result.counts["done"] > 5
    assert not {mark for mark in result.marks if mark.startswith(("node stopped", "write", "session"))}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run_whatever_the_hash_seed():
    seed = 5
    script = (
        "import json; from falkirk.simulation.zookeeper.run import simulate\n"
        f"result = simulate({seed})\n"
        "print(json.dumps([result.digest, result.counts, result.marks, list(result.timeline)]))"
    )
    # This process has a hash seed of its own.
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    result = simulate(seed)
    assert json.loads(done.stdout) == [result.digest, result.counts, result.marks, list(result.timeline)]
    assert simulate(seed, keeps_timeline=False).digest == result.digest != simulate(seed + 1).digest


def test_seeds_choose_everything_that_there_is():
    scenarios = [scenario_of(seed) for seed in range(200)]
    assert {kind for scenario in scenarios for kind in scenario.kinds} == set(KINDS)
    assert any(not scenario.kinds for scenario in scenarios)
    assert any(scenario.is_migrating for scenario in scenarios)
    assert {len(scenario.releases) for scenario in scenarios} == {1, 2, 3, 4}
