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


def test_what_each_depth_has_is_reported():
    depths = []
    Exploration(replace(ELECTION, depth_max=2), on_depth=lambda *each: depths.append(each)).run()
    assert [depth for depth, _, _ in depths] == [1, 2]
    assert depths[1][1] > depths[0][1]


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
