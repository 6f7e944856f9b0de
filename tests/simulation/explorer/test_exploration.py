"""All runs of small quorums keep the invariants; the explorer is compared with what it must find in planted bugs."""

from dataclasses import replace

import pytest

from falkirk.simulation.explorer.cluster import ExploredCluster
from falkirk.simulation.explorer.exploration import Exploration
from falkirk.simulation.explorer.replica_steps import NodeView
from falkirk.simulation.explorer.scope import Scope
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


def shape(view: NodeView) -> str:
    """A replica without its name, and without the checksums of batches that name replicas."""
    history, committed = (tuple(each[:3] for each in batches) for batches in (view.history, view.committed))
    return repr(
        replace(view, node_id=0, voted_id=None, text="", history=history, committed=committed, voters=len(view.voters))
    )


def shapes(scope: Scope, monkeypatch: pytest.MonkeyPatch, *, is_reduced: bool) -> tuple[set[object], int]:
    """Return the states that a scope reaches as they are under any names, and how many there were with names."""
    found = set()
    follow = ExploredCluster.follow

    def noting(cluster, state, event, **options):
        followed = follow(cluster, state, event, **options)
        if followed is not None:
            found.add(tuple(sorted(map(shape, cluster.views(followed.state)))))
        return followed

    with monkeypatch.context() as patched:
        patched.setattr(ExploredCluster, "follow", noting)
        if not is_reduced:
            patched.setattr(ExploredCluster, "_is_first_of_its_kind", lambda *_: True)
        result = Exploration(scope).run()
    assert result.problem is None
    return found, result.states


@pytest.mark.slow
def test_every_state_is_reached_under_some_names(monkeypatch):
    scope = replace(ELECTION, depth_max=4)
    reduced, fewer = shapes(scope, monkeypatch, is_reduced=True)
    every, more = shapes(scope, monkeypatch, is_reduced=False)
    assert reduced == every
    assert fewer < more


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
@pytest.mark.parametrize(("name", "depth"), [("snapshot-four", 7), ("snapshot-four-crash", 5), ("snapshot-five", 5)])
def test_every_short_run_of_a_commit_by_snapshot_keeps_the_invariants(name, depth):
    result = Exploration(replace(SCOPES[name], depth_max=depth)).run()
    assert result.problem is None, "\n".join(result.run)
    assert result.depth == depth
    # So many that voters have taken the snapshot, and others have been elected.
    assert result.states > 3000


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("name", list(SCOPES))
def test_every_run_of_a_scope_keeps_the_invariants(name):
    result = Exploration(SCOPES[name]).run()
    assert result.problem is None, "\n".join(result.run)
    assert result.is_complete or result.depth == SCOPES[name].depth_max
