"""When reassignments end, and what calling them off goes back to."""

import msgspec
import pytest

from falkirk.metadata.controller.partitions.partition_reassignment import Cancellation, Reassignment, is_reassigning
from falkirk.metadata.image.partition import Partition

PARTITION = Partition(
    replicas=(1, 2, 3, 4), directories=(bytes(16),) * 4, isr=(1, 2), leader=1, leader_epoch=0, partition_epoch=0
)


def test_replicas_that_go_stand_last():
    assert Reassignment.between((5, 4, 1), (2, 1)) == Reassignment((2, 1, 4, 5), (4, 5), (2,))
    assert Reassignment.between((1, 2), (2, 1)) == Reassignment((2, 1))


@pytest.mark.parametrize(
    ("replicas", "removing", "adding", "isr", "completed"),
    [
        ((1, 2), (), (), (1, 2), None),  # there is none
        ((1, 2, 3), (1,), (3,), (1, 2, 3), ((2, 3), (2, 3))),
        ((1, 2, 3), (1,), (3,), (3,), ((2, 3), (3,))),  # as many come as go: only they must be in sync
        ((1, 2, 3), (1,), (3,), (1, 2), None),
        ((1, 2, 3), (1,), (), (1, 2, 3), ((2, 3), (2, 3))),
        ((1, 2, 3), (1,), (), (1, 2), None),  # fewer come than go: all that stay must be in sync
        ((1, 2, 3), (1, 2, 3), (), (1, 2, 3), None),
        ((1, 2, 3), (), (3,), (3,), ((1, 2, 3), (3,))),
        ((1, 2, 3), (3,), (3,), (1, 2), ((1, 2), (1, 2))),  # what is removed again is not waited for
        ((1, 2, 3), (3,), (3,), (1, 3), None),
    ],
)
def test_a_reassignment_ends_when_what_it_adds_is_in_sync(replicas, removing, adding, isr, completed):
    assert Reassignment(replicas, removing, adding).completed(isr) == completed


@pytest.mark.parametrize(
    ("adding", "isr", "cancellation"),
    [
        ((4,), (1, 2, 4), Cancellation((1, 2, 3), (1, 2), is_unclean=False)),
        ((4, 3), (4,), Cancellation((1, 2), (1,), is_unclean=True)),
        ((1, 2, 3, 4), (4,), None),
    ],
)
def test_calling_off_keeps_what_is_in_sync_and_was_there_before(adding, isr, cancellation):
    partition = msgspec.structs.replace(PARTITION, adding_replicas=adding, isr=isr)
    assert is_reassigning(partition)
    assert Cancellation.of(partition) == cancellation
