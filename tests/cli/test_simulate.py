"""The command: what it prints, and how its exit status tells runs apart."""

import json
from dataclasses import replace

import pytest

from falkirk.simulation import run
from falkirk.simulation.run import SimulationResult, Verdict
from falkirk.simulation.zookeeper import run as zookeeper_run

PASSED = SimulationResult(
    seed=0,
    scenario="one controller",
    verdict=Verdict.PASSED,
    problem=None,
    simulated_ms=20_000,
    digest="00c0ffee",
    timeline=["    0.000  world        begins"],
    counts={"steps": 7},
    marks={"vote granted": 2},
    changes={"controller-1": 3},
)


@pytest.fixture
def verdicts(monkeypatch):
    """The verdict of each seed; those that are not named pass."""
    known: dict[int, Verdict] = {}

    def simulate(
        seed: int, *, keeps_timeline: bool, has_step_costs: bool = False, has_transactions: bool = False
    ) -> SimulationResult:
        verdict = known.get(seed, Verdict.PASSED)
        problem = None if verdict is Verdict.PASSED else "SingleLeader: two of them"
        problem = "NoStepStalls: a long one" if problem and has_step_costs else problem
        problem = "OneEpochOwner: two of them" if problem and has_transactions else problem
        timeline = PASSED.timeline if keeps_timeline else []
        return replace(PASSED, seed=seed, verdict=verdict, problem=problem, timeline=timeline)

    monkeypatch.setattr(run, "simulate", simulate)
    return known


def test_a_run_is_told_line_by_line(falkirk, verdicts):
    result = falkirk("simulate", "--seed", "4")
    assert result.exit_code == 0
    assert result.stdout == (
        "    0.000  world        begins\nseed 4: passed after 20.0 s of simulated time (7 steps)\n"
    )


def test_a_quiet_run_is_one_line(falkirk, verdicts):
    assert falkirk("simulate", "--seed", "4", "--quiet").stdout.count("\n") == 1


def test_a_run_as_a_document(falkirk, verdicts):
    verdicts[5] = Verdict.WRONG
    result = falkirk("simulate", "--seed", "4", "--runs", "2", "--json")
    first, second = json.loads(result.stdout)["runs"]
    assert first == {
        "seed": 4,
        "scenario": "one controller",
        "verdict": "passed",
        "problem": None,
        "simulated_ms": 20_000,
        "digest": "00c0ffee",
        "counts": {"steps": 7},
        "marks": {"vote granted": 2},
        "timeline": ["    0.000  world        begins"],
    }
    assert (second["verdict"], second["problem"]) == ("wrong result", "SingleLeader: two of them")


@pytest.mark.parametrize(
    ("ended", "exit_code"),
    [
        ([], 0),
        ([Verdict.STUCK], 4),
        ([Verdict.STUCK, Verdict.CRASHED], 5),
        ([Verdict.STUCK, Verdict.CRASHED, Verdict.WRONG], 1),
    ],
)
def test_the_worst_run_decides_the_exit_status(falkirk, verdicts, ended, exit_code):
    verdicts.update(enumerate(ended, 1))
    result = falkirk("simulate", "--seed", "0", "--runs", "5", "--quiet")
    assert result.exit_code == exit_code
    if ended:
        assert result.stderr.endswith(
            f"not passed: seed {', '.join(map(str, verdicts))}; play again with: falkirk simulate --seed 1\n"
        )


def test_a_real_seed_plays(falkirk):
    result = falkirk("simulate", "--seed", "9")
    assert result.exit_code == 0
    assert "controller-1 info: controller-activated" in result.stdout


def test_a_real_seed_of_brokers_on_zookeeper_plays(falkirk):
    result = falkirk("simulate", "--seed", "3", "--zookeeper")
    assert result.exit_code == 0
    assert "controller-elected epoch=1" in result.stdout


def test_a_seed_on_zookeeper_is_played_again_there(falkirk, verdicts, monkeypatch):
    verdicts[3] = Verdict.STUCK
    monkeypatch.setattr(zookeeper_run, "simulate", run.simulate)
    result = falkirk("simulate", "--seed", "3", "--quiet", "--zookeeper")
    assert result.exit_code == 4
    assert result.stderr.endswith("not passed: seed 3; play again with: falkirk simulate --seed 3 --zookeeper\n")


def test_a_seed_with_step_costs_is_played_again_with_them(falkirk, verdicts):
    verdicts[3] = Verdict.WRONG
    result = falkirk("simulate", "--seed", "3", "--quiet", "--step-costs")
    assert "NoStepStalls: a long one" in result.stdout
    assert result.stderr.endswith("not passed: seed 3; play again with: falkirk simulate --seed 3 --step-costs\n")


def test_a_seed_with_transactions_is_played_again_with_them(falkirk, verdicts):
    verdicts[3] = Verdict.WRONG
    result = falkirk("simulate", "--seed", "3", "--quiet", "--transactions")
    assert "OneEpochOwner: two of them" in result.stdout
    assert result.stderr.endswith("not passed: seed 3; play again with: falkirk simulate --seed 3 --transactions\n")


@pytest.mark.parametrize("option", ["--step-costs", "--transactions"])
def test_brokers_on_zookeeper_have_neither_step_costs_nor_transactions(falkirk, option):
    result = falkirk("simulate", "--seed", "3", "--zookeeper", option)
    assert result.exit_code == 2
    assert f"{option} is for KRaft's nodes, not for --zookeeper" in result.stderr
