"""The command: what it prints of an exploration, and its exit status."""

import json
from dataclasses import replace

import pytest

from falkirk.simulation.explorer import exploration
from falkirk.simulation.explorer.exploration import ExplorationResult

HELD = ExplorationResult(
    scope="election",
    states=1689,
    replica_states=492,
    replica_steps=2179,
    depth=11,
    is_complete=True,
    problem=None,
    run=(),
)


@pytest.fixture
def explored(monkeypatch):
    """The results to come, and the scopes that were explored."""
    results, scopes = [HELD], []

    class Exploration:
        def __init__(self, scope, *, on_depth):
            scopes.append(scope)
            on_depth(1, 4, 3)

        def run(self):
            return results[0]

    monkeypatch.setattr(exploration, "Exploration", Exploration)
    return results, scopes


def test_what_was_explored_is_one_line(falkirk, explored):
    result = falkirk("explore", "election")
    assert result.exit_code == 0
    assert result.stdout == (
        "election: every run keeps all invariants "
        "(1689 states of the cluster, 492 of single replicas, 2179 of their steps, depth 11)\n"
    )
    assert result.stderr == "depth 1: 4 states, 3 to go on from\n"


def test_a_run_that_breaks_an_invariant_is_printed(falkirk, explored):
    explored[0][0] = replace(HELD, problem="SingleLeader: two of them", run=("  1. node 1 lets all its timers pass",))
    result = falkirk("explore", "election", "--depth", "3")
    assert result.exit_code == 1
    assert result.stdout.startswith("  1. node 1 lets all its timers pass\nelection: an invariant does not hold (")
    assert "SingleLeader: two of them" in result.stderr
    assert explored[1][0].depth_max == 3


def test_an_exploration_as_a_document(falkirk, explored):
    document = json.loads(falkirk("explore", "election", "--json").stdout)
    assert document["states"] == 1689
    assert document["problem"] is None
    assert document["run"] == []


def test_an_unknown_scope_names_those_there_are(falkirk, explored):
    result = falkirk("explore", "everything")
    assert result.exit_code == 2
    assert "everything is no scope; there are election, " in result.stderr


def test_scopes_are_listed(falkirk):
    assert falkirk("explore", "list").stdout.startswith("election: three voters")
