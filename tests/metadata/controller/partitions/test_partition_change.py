"""Situations of one partition, and what becomes of it. Agreement with Kafka: test_kafka_partition_change."""

import msgspec
import pytest

from falkirk.metadata.controller.partitions.partition_change import Election, PartitionChange, Surroundings
from falkirk.metadata.controller.partitions.partition_reassignment import Reassignment
from falkirk.metadata.image.partition import UNASSIGNED, Partition
from falkirk.versions.metadata_version import MetadataVersion

D1, D2, D3, D4 = (bytes([0xD0, number]) * 8 for number in range(1, 5))
PARTITION = Partition(
    replicas=(2, 1, 3), directories=(D2, D1, D3), isr=(2, 1, 3), leader=1, leader_epoch=5, partition_epoch=9
)
NAMED = (
    "leader", "isr", "replicas", "removing_replicas", "adding_replicas", "eligible_leader_replicas", "last_known_elr",
    "leader_recovery_state", "directories",
)  # fmt: skip
UNCHANGED = {"leader": -2, "leader_recovery_state": -1}


def partition(**fields):
    return msgspec.structs.replace(PARTITION, **fields)


def change(given=PARTITION, *, level="4.4-IV2", elr=False, min_isr=2, alive=(1, 2, 3, 4), **fields):
    """Return what a record says changes; None if there is none."""
    made = PartitionChange(
        topic_id=b"t" * 16,
        partition_id=0,
        partition=given,
        surroundings=Surroundings(
            metadata_version=MetadataVersion.parse(level),
            elr_enabled=elr,
            min_insync_replicas=min_isr,
            may_lead=lambda replica: replica in alive,
            default_directory=lambda replica: D4 if replica == 4 else UNASSIGNED,
        ),
        **fields,
    ).record()
    if made is None:
        return None
    values = {name: getattr(made.record, name) for name in NAMED}
    return {name: value for name, value in values.items() if value != UNCHANGED.get(name)}


# Elections.


def test_a_leader_that_may_go_on_stays():
    assert change() is None


def test_a_preferred_election_takes_the_first_replica_if_it_is_in_sync():
    assert change(election=Election.PREFERRED) == {"leader": 2}
    assert change(partition(isr=(1, 3)), election=Election.PREFERRED) is None
    assert change(alive=(1, 3), election=Election.PREFERRED) is None


@pytest.mark.parametrize(
    ("isr", "alive", "election", "changes"),
    [
        ((2, 3), (2, 3), Election.ONLINE, {"leader": 2, "isr": (2, 3)}),
        ((3,), (2, 3), Election.ONLINE, {"leader": 3, "isr": (3,)}),
        ((3,), (2,), Election.ONLINE, {"leader": -1, "isr": (3,)}),
        ((3,), (2,), Election.PREFERRED, {"leader": -1, "isr": (3,)}),
        ((3,), (2,), Election.UNCLEAN, {"leader": 2, "isr": (2,), "leader_recovery_state": 1}),
        ((3,), (), Election.UNCLEAN, {"leader": -1, "isr": (3,)}),
        # Without eligible replicas, the last ISR is kept: its members alone have what was committed.
        ((), (2, 3), Election.ONLINE, {"leader": -1}),
    ],
)
def test_a_leader_that_leaves_is_followed_by_the_first_replica_in_sync(isr, alive, election, changes):
    assert change(isr=isr, alive=alive, election=election) == changes


def test_an_unclean_leader_that_is_recovering_already_stays_so():
    lost = partition(isr=(3,), leader=-1, leader_recovery_state=1)
    assert change(lost, alive=(2,), election=Election.UNCLEAN) == {"leader": 2, "isr": (2,)}


def test_a_leader_that_has_recovered_says_so():
    assert change(partition(leader_recovery_state=1), leader_recovery_state=0) == {"leader_recovery_state": 0}


def test_no_recovery_state_is_written_before_3_2():
    lost = partition(isr=(3,), leader=-1)
    assert change(lost, level="3.1-IV0", alive=(2,), election=Election.UNCLEAN) == {"leader": 2, "isr": (2,)}


# Epochs.


@pytest.mark.parametrize(("level", "bumps"), [("3.5-IV2", True), ("3.6-IV0", False), ("4.4-IV2", False)])
def test_a_shrinking_isr_raises_the_leader_epoch_before_3_6_only(level, bumps):
    assert change(level=level, isr=(2, 1)) == {"isr": (2, 1)} | ({"leader": 1} if bumps else {})
    assert change(partition(isr=(1,)), level=level, isr=(1, 2)) == {"isr": (1, 2)}


def test_a_replica_that_goes_raises_the_leader_epoch_at_any_level():
    found = change(reassignment=Reassignment((2, 1)), isr=(2, 1))
    assert found == {"leader": 1, "isr": (2, 1), "replicas": (2, 1), "directories": (D2, D1)}


# Record versions.


@pytest.mark.parametrize(("level", "version"), [("3.7-IV1", 0), ("3.7-IV2", 1), ("4.0-IV0", 1), ("4.0-IV1", 2)])
def test_the_record_has_the_version_of_the_level(level, version):
    surroundings = Surroundings(
        metadata_version=MetadataVersion.parse(level),
        elr_enabled=False,
        min_insync_replicas=1,
        may_lead=lambda _: True,
        default_directory=lambda _: D1,
    )
    made = PartitionChange(
        topic_id=b"t" * 16, partition_id=0, partition=PARTITION, surroundings=surroundings, isr=(1,)
    ).record()
    assert made is not None
    assert made.version == version


# Eligible leader replicas.


def test_below_the_minimum_whoever_leaves_the_isr_stays_eligible():
    assert change(elr=True, isr=(1, 3)) == {"isr": (1, 3)}
    assert change(elr=True, isr=(1,)) == {"isr": (1,), "eligible_leader_replicas": (2, 3)}
    assert change(elr=True, isr=(1,), unclean_shutdown=(2,)) == {"isr": (1,), "eligible_leader_replicas": (3,)}


def test_at_the_minimum_nobody_stays_eligible():
    below = partition(isr=(1,), eligible_leader_replicas=(2, 3))
    assert change(below, elr=True, isr=(1, 2)) == {"isr": (1, 2), "eligible_leader_replicas": ()}


def test_an_isr_may_become_empty_and_the_last_leader_is_remembered():
    last = partition(isr=(1,), eligible_leader_replicas=(2, 3))
    assert change(last, elr=True, isr=(), alive=()) == {
        "leader": -1, "isr": (), "eligible_leader_replicas": (1, 2, 3), "last_known_elr": (1,),
    }  # fmt: skip


def test_an_eligible_replica_leads_when_the_isr_is_empty_and_loses_nothing():
    empty = partition(isr=(), leader=-1, eligible_leader_replicas=(1, 3), last_known_elr=(2,))
    assert change(empty, elr=True, alive=(2, 3)) == {
        "leader": 3, "isr": (3,), "eligible_leader_replicas": (1,), "last_known_elr": (),
    }  # fmt: skip


def test_the_last_known_leader_leads_when_nobody_is_eligible():
    empty = partition(isr=(), leader=-1, last_known_elr=(2,))
    found = {"leader": 2, "isr": (2,), "last_known_elr": (), "leader_recovery_state": 1}
    assert change(empty, elr=True, alive=(1, 2, 3)) == found
    assert change(empty, elr=True, alive=(1, 3)) is None
    assert change(empty, elr=False, alive=(2,)) is None


def test_whoever_was_alone_when_the_leader_went_before_elr_was_switched_on_is_the_last_known_leader():
    alone = partition(isr=(2,), leader=-1)
    found = {"isr": (), "last_known_elr": (2,)}
    assert change(alone, elr=True, alive=(), isr=(), unclean_shutdown=(2,)) == found
    eligible = partition(isr=(), leader=-1, eligible_leader_replicas=(2,))
    found = {"eligible_leader_replicas": (), "last_known_elr": (2,)}
    assert change(eligible, elr=True, alive=(), unclean_shutdown=(2,)) == found
    # Of two nobody knows who led.
    two = partition(isr=(2, 1), leader=-1)
    assert change(two, elr=True, alive=(), isr=(), unclean_shutdown=(1, 2)) == {"isr": ()}


def test_a_last_known_leader_that_is_no_replica_any_more_does_not_lead():
    empty = partition(isr=(), leader=-1, last_known_elr=(4,))
    assert change(empty, elr=True, alive=(4,)) is None


def test_an_unclean_leader_leaves_nobody_eligible():
    empty = partition(isr=(), leader=-1, eligible_leader_replicas=(1,), last_known_elr=(1,))
    assert change(empty, elr=True, alive=(3,), election=Election.UNCLEAN) == {
        "leader": 3, "isr": (3,), "eligible_leader_replicas": (), "last_known_elr": (), "leader_recovery_state": 1,
    }  # fmt: skip


def test_a_replica_that_a_reassignment_takes_away_does_not_stay_eligible():
    moving = partition(replicas=(2, 1, 3), removing_replicas=(3,), eligible_leader_replicas=(), isr=(2, 1, 3))
    found = change(moving, elr=True, min_isr=3, isr=(2, 1))
    assert found["replicas"] == (2, 1)
    assert "eligible_leader_replicas" not in found


# Reassignments.


def test_a_reassignment_starts_with_all_replicas_and_ends_when_the_new_ones_are_in_sync():
    started = change(reassignment=Reassignment.between((2, 1, 3), (2, 1, 4)))
    assert started == {
        "replicas": (2, 1, 4, 3), "removing_replicas": (3,), "adding_replicas": (4,), "directories": (D2, D1, D4, D3),
    }  # fmt: skip
    moving = partition(
        replicas=(2, 1, 4, 3), directories=(D2, D1, D4, D3), removing_replicas=(3,), adding_replicas=(4,)
    )
    assert change(moving, isr=(2, 1)) == {"isr": (2, 1)}
    assert change(moving, isr=(2, 1, 3, 4)) == {
        "leader": 1, "isr": (2, 1, 4), "replicas": (2, 1, 4), "removing_replicas": (), "adding_replicas": (),
        "directories": (D2, D1, D4),
    }  # fmt: skip


def test_a_reassignment_that_needs_nobody_new_ends_at_once():
    assert change(reassignment=Reassignment.between((2, 1, 3), (3, 1, 2))) == {
        "replicas": (3, 1, 2), "directories": (D3, D1, D2),
    }  # fmt: skip


def test_a_leader_that_is_removed_hands_over_at_the_end():
    moving = partition(removing_replicas=(1,))
    found = change(moving, isr=(2, 3, 1))
    assert (found["leader"], found["isr"], found["replicas"]) == (2, (2, 3), (2, 3))


# Directories.


def test_directories_are_told_from_3_7_iv2_on():
    moved = Reassignment.between((2, 1, 3), (3, 1, 2))
    assert change(level="3.7-IV1", reassignment=moved) == {"replicas": (3, 1, 2)}
    assert change(directories={1: D4}) == {"directories": (D2, D4, D3)}
    assert change(level="3.7-IV1", directories={1: D4}) is None
