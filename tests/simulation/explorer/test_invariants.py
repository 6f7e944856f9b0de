"""Each invariant is broken once."""

from dataclasses import replace

import pytest

from falkirk.simulation.explorer.invariants import Past, after, logs_match
from falkirk.simulation.explorer.memory_log import BatchIdentity
from falkirk.simulation.explorer.replica_steps import NodeView
from falkirk.simulation.history.invariant import InvariantViolatedError

FIRST = BatchIdentity(0, 1, 1, 11)
SECOND = BatchIdentity(1, 2, 1, 12)
OTHER = BatchIdentity(1, 2, 2, 22)
FOLLOWS = NodeView(
    node_id=1,
    epoch=1,
    is_leader=False,
    voted_id=2,
    history=(FIRST, SECOND),
    committed=(FIRST,),
    voters=(1, 2),
    lowers=False,
    can_clean=False,
    has_offer=False,
    is_active=False,
    misfit=None,
    text="",
)
LEADS = replace(FOLLOWS, is_leader=True, voted_id=None)
PAST = Past(leaders=((1, 2),), committed=(FIRST, SECOND))


def test_what_was_committed_and_led_is_remembered():
    leads = replace(LEADS, epoch=2, committed=(FIRST, SECOND))
    assert after(Past(), FOLLOWS, leads) == Past(leaders=((2, 1),), committed=(FIRST, SECOND))


@pytest.mark.parametrize(
    ("invariant", "view"),
    [
        ("MonotonicEpoch", replace(FOLLOWS, epoch=0)),
        ("OneVote", replace(FOLLOWS, voted_id=3)),
        ("SingleLeader", LEADS),
        ("LeaderCompleteness", replace(LEADS, epoch=2, history=(FIRST,))),
        ("ConsistentCommittedData", replace(FOLLOWS, history=(FIRST, OTHER), committed=(FIRST, OTHER))),
        ("FinalizedWithinSupported", replace(FOLLOWS, misfit="a broker is too old")),
        ("CommittedDataStays", replace(FOLLOWS, history=(), committed=())),
    ],
)
def test_a_state_that_contradicts_the_past(invariant, view):
    with pytest.raises(InvariantViolatedError) as raised:
        after(PAST, FOLLOWS, view)
    assert raised.value.invariant == invariant


def test_logs_with_a_shared_batch_match_before_it():
    third = BatchIdentity(2, 3, 3, 33)
    logs_match(replace(FOLLOWS, history=(FIRST, SECOND)), replace(FOLLOWS, history=(FIRST, OTHER)))
    with pytest.raises(InvariantViolatedError, match="LogsMatch: nodes 1 and 2 differ below offset 3"):
        logs_match(
            replace(FOLLOWS, history=(FIRST, SECOND, third)), replace(FOLLOWS, node_id=2, history=(FIRST, OTHER, third))
        )
