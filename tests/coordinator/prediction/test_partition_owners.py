"""Partitions that change hands between the members of a consumer group."""

import pytest

from falkirk.coordinator.prediction.partition_owners import Ownership, PartitionOwners
from falkirk.coordinator.prediction.replay_error import ReplayError
from falkirk.coordinator.records.loader_rules import PartitionOwnership

EXACT, NEWER = PartitionOwnership.EXACT, PartitionOwnership.NEWER_EPOCH_WINS
T = b"t" * 16


def holding(epoch, *partitions, revoking=()):
    return Ownership(epoch, {T: frozenset(partitions)}, {T: frozenset(revoking)} if revoking else {})


@pytest.mark.parametrize("rule", list(PartitionOwnership))
def test_partitions_given_back_can_be_taken(rule):
    owners = PartitionOwners(rule)
    owners.move(None, holding(1, 0, 1))
    owners.move(holding(1, 0, 1), holding(2, 0))
    owners.move(None, holding(2, 1))
    owners.move(holding(2, 1), None)


@pytest.mark.parametrize("rule", [EXACT, NEWER])
def test_a_partition_has_one_owner(rule):
    owners = PartitionOwners(rule)
    owners.move(None, holding(2, 0))
    with pytest.raises(ReplayError, match="still owned at epoch 2"):
        owners.move(None, holding(2, 0))
    with pytest.raises(ReplayError, match="still owned at epoch 3"):
        owners.move(None, holding(3, 1, revoking=(1,)))


def test_a_higher_epoch_takes_a_partition_over_where_that_wins():
    owners = PartitionOwners(NEWER)
    owners.move(None, holding(1, 0))
    owners.move(None, holding(2, 0))
    # The member of before gives back what it no longer has, and cannot have it again at its epoch.
    with pytest.raises(ReplayError, match="at epoch 1"):
        owners.move(holding(1, 0), holding(1, 0))
    owners.move(holding(1, 0), None)
    owners.move(holding(2, 0), None)


def test_what_is_given_back_must_be_ones_own_where_that_is_exact():
    owners = PartitionOwners(EXACT)
    with pytest.raises(ReplayError, match="of which no member has a partition"):
        owners.move(holding(1, 0), None)
    owners.move(None, holding(1, 0))
    for wrong in (holding(2, 0), holding(1, 1)):
        with pytest.raises(ReplayError, match="not its own"):
            owners.move(wrong, None)


def test_two_members_with_a_topic_but_no_partition_cannot_both_give_it_back_where_that_is_exact():
    owners = PartitionOwners(EXACT)
    owners.move(None, holding(1))
    owners.move(None, holding(1))
    owners.move(holding(1), None)
    with pytest.raises(ReplayError, match="no member"):
        owners.move(holding(1), None)


def test_a_move_that_fails_changes_nothing():
    owners = PartitionOwners(EXACT)
    owners.move(None, holding(1, 0))
    owners.move(None, holding(1, 1))
    with pytest.raises(ReplayError):
        owners.move(holding(1, 0), holding(2, 0, 1))
    owners.move(holding(1, 0), None)
    owners.move(holding(1, 1), None)
