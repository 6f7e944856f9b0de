"""All runs of small quorums keep the invariants; the explorer is compared with what it must find in planted bugs."""

from dataclasses import replace

import pytest

from falkirk.simulation.explorer.exploration import Exploration
from falkirk.simulation.explorer.scopes import SCOPES

ELECTION = SCOPES["election"]


def test_every_short_run_keeps_the_invariants():
    result = Exploration(replace(ELECTION, depth_max=3, crashes_max=0)).run()
    assert result.problem is None
    assert (result.depth, result.is_complete) == (3, False)
    assert result.states > 50


def test_runs_that_differ_in_names_only_are_explored_once():
    result = Exploration(replace(ELECTION, depth_max=1, crashes_max=0)).run()
    # What the first can do; what the others can do is the same under other names.
    assert result.states < 6


def test_the_same_scope_has_the_same_states():
    first, second = (Exploration(replace(ELECTION, depth_max=3)).run() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", list(SCOPES))
def test_every_scope_begins(name):
    result = Exploration(replace(SCOPES[name], depth_max=1)).run()
    assert result.problem is None
    assert result.depth == 1


def test_what_each_depth_has_is_reported():
    depths = []
    Exploration(replace(ELECTION, depth_max=2), on_depth=lambda *each: depths.append(each)).run()
    assert [depth for depth, _, _ in depths] == [1, 2]
    assert depths[1][1] > depths[0][1]


@pytest.mark.parametrize(("name", "is_committed"), [("snapshot-crash", True), ("snapshot-five", False)])
def test_real_kafkas_voters_reach_the_lowering_where_a_snapshot_is_offered(name, is_committed):
    """Otherwise these scopes would explore nothing."""
    scope = replace(SCOPES[name], depth_max=5, crashes_max=0, epochs_max=1)
    exploration = Exploration(scope)
    assert exploration.run().problem is None
    steps = exploration._cluster.steps
    views = [steps.view(number) for number in range(steps.count)]
    lowered = [view for view in views if view.node_id in scope.jvm_nodes and len(view.committed) == 2]
    assert bool(lowered) == is_committed
    assert any(view.lowers for view in views)


@pytest.mark.slow
def test_every_run_of_an_election_keeps_the_invariants():
    result = Exploration(replace(ELECTION, crashes_max=0)).run()
    assert result.problem is None
    assert result.is_complete
    # Both are properties of the scope: a reduction that hides states, or a state that is counted twice, changes them.
    assert result.states > 1000


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("name", list(SCOPES))
def test_every_run_of_a_scope_keeps_the_invariants(name):
    result = Exploration(SCOPES[name]).run()
    assert result.problem is None, "\n".join(result.run)
    assert result.is_complete or result.depth == SCOPES[name].depth_max
