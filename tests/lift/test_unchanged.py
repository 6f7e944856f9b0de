"""A lift goes on with the cluster that it began on, and with no other."""

import asyncio
from dataclasses import replace

import pytest
from lift_fakes import VOTERS, FakeQuorum

from falkirk.lift.errors import LiftError
from falkirk.lift.journal import Originals
from falkirk.lift.unchanged import check_unchanged

ORIGINALS = Originals(cluster_id="c", leader_id=1, voters=VOTERS, levels={}, target="3.9-IV0")
EXTRA = 9001


def quorum_of(*voters, directory_id=None):
    found = asyncio.run(FakeQuorum(voters=set(voters)).describe())
    if directory_id is None:
        return found
    return replace(found, voter_states=tuple(replace(each, directory_id=directory_id) for each in found.voter_states))


@pytest.mark.parametrize(
    ("cluster_id", "quorum"),
    [("c", None), (None, None), ("c", quorum_of(1, 2, 3)), ("c", quorum_of(1, 2, 3, EXTRA)), ("c", quorum_of(EXTRA))],
)
def test_voters_that_left_and_nodes_that_do_not_answer_are_no_change(cluster_id, quorum):
    check_unchanged(ORIGINALS, cluster_id=cluster_id, quorum=quorum, own={EXTRA})


@pytest.mark.parametrize(
    ("cluster_id", "quorum", "problem"),
    [
        ("d", None, "the lift under way is of cluster c, and bootstrap_servers lead to d: "),
        ("c", quorum_of(1, 2, 4), "voter 4 was added after the lift had begun, "),
        ("c", quorum_of(2, directory_id=bytes(15) + b"\7"), f"voter 2 has directory {7:032x}, and had {2:032x} when "),
    ],
)
def test_another_cluster_and_other_voters_are_refused(cluster_id, quorum, problem):
    with pytest.raises(LiftError) as refused:
        check_unchanged(ORIGINALS, cluster_id=cluster_id, quorum=quorum, own={EXTRA})
    assert str(refused.value).startswith(problem)
