"""What a run's history of groups accepts and what it does not."""

import pytest

from falkirk.simulation.history.data_history import DataHistory
from falkirk.simulation.history.group_history import Generation, GroupHistory
from falkirk.simulation.history.invariant import InvariantViolatedError


def test_the_level_of_a_member_never_falls():
    history = GroupHistory(DataHistory())
    history.record_level(Generation("g", 1), "ann", before=0, level=1)
    with pytest.raises(InvariantViolatedError, match="ann is told level 0 in generation 2 of g, it was at 1"):
        history.record_level(Generation("g", 2), "ann", before=1, level=0)


def test_the_members_of_a_generation_have_one_level():
    history = GroupHistory(DataHistory())
    history.record_level(Generation("g", 1), "ann", before=0, level=1)
    with pytest.raises(
        InvariantViolatedError, match="bea is told level 0 in generation 1 of g, it was at 0, others at 1"
    ):
        history.record_level(Generation("g", 1), "bea", before=0, level=0)


def test_a_group_that_lost_all_its_members_has_lost_its_level():
    history = GroupHistory(DataHistory())
    history.record_level(Generation("g", 1), "ann", before=0, level=1)
    history.record_level(Generation("g", 3), "bea", before=0, level=0)
    assert history.highest_level == 1
