import pytest

from falkirk.metadata.image.partition import MIGRATING, Partition
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.protocol.messages import PartitionChangeRecord, PartitionRecord
from falkirk.versions.metadata_version import METADATA_VERSIONS, MetadataVersion

TOPIC_ID = b"t" * 16
D1, D2, D3 = b"1" * 16, b"2" * 16, b"3" * 16
PARTITION = Partition(
    replicas=(1, 2, 3),
    directories=(D1, D2, D3),
    isr=(1, 2),
    leader=1,
    leader_epoch=5,
    partition_epoch=9,
    removing_replicas=(3,),
    adding_replicas=(2,),
    eligible_leader_replicas=(3,),
    last_known_elr=(1,),
)


def change(**fields):
    return PartitionChangeRecord(0, TOPIC_ID, **fields)


def test_a_change_that_names_nothing_raises_the_partition_epoch_alone():
    changed = PARTITION.changed_by(change())

    assert (changed.partition_epoch, changed.leader_epoch, changed.leader) == (10, 5, 1)
    assert changed == Partition.from_record(PARTITION_AT_10)


PARTITION_AT_10 = PartitionRecord(0, TOPIC_ID, (1, 2, 3), (1, 2), (3,), (2,), 1, 0, 5, 10, (D1, D2, D3), (3,), (1,))


@pytest.mark.parametrize("leader", [1, 2, -1])
def test_naming_a_leader_raises_the_leader_epoch_even_if_it_is_the_same_one(leader):
    changed = PARTITION.changed_by(change(leader=leader))

    assert (changed.leader, changed.leader_epoch) == (leader, 6)


def test_lists_change_where_they_are_given_and_empty_is_a_value():
    changed = PARTITION.changed_by(
        change(isr=(), removing_replicas=(), adding_replicas=(), eligible_leader_replicas=(), last_known_elr=(2,))
    )

    assert changed.isr == changed.removing_replicas == changed.adding_replicas == changed.eligible_leader_replicas == ()
    assert changed.last_known_elr == (2,)
    assert changed.replicas == (1, 2, 3)


def test_the_recovery_state_stays_unless_it_is_given():
    recovering = PARTITION.changed_by(change(leader_recovery_state=1))

    assert recovering.leader_recovery_state == 1
    assert recovering.changed_by(change()).leader_recovery_state == 1
    assert recovering.changed_by(change(leader_recovery_state=0)).leader_recovery_state == 0


def test_new_replicas_bring_their_directories():
    changed = PARTITION.changed_by(change(replicas=(1, 4), directories=(D1, D2)))

    assert (changed.replicas, changed.directories) == ((1, 4), (D1, D2))


def test_below_the_level_of_directories_replicas_change_without_them():
    old = Partition.from_record(PartitionRecord(0, TOPIC_ID, (1, 2), (1,)))

    assert old.directories == (MIGRATING, MIGRATING)
    assert old.changed_by(change(replicas=(1, 2, 3))).directories == (MIGRATING,) * 3
    assert old.changed_by(change(replicas=(4,))).directories == (MIGRATING,)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (PartitionRecord(0, TOPIC_ID, (1, 2), (1,), directories=(D1,)), "1 directories for 2 replicas"),
        (PartitionRecord(0, TOPIC_ID, (1,), (1,), leader_recovery_state=2), "unknown leader recovery state 2"),
    ],
)
def test_an_impossible_partition_is_refused(record, reason):
    with pytest.raises(InconsistentRecordError, match=reason) as caught:
        Partition.from_record(record)
    assert caught.value.record == "PartitionRecord"
    assert caught.value.key.fields() == {"topic_id": "dHR0dHR0dHR0dHR0dHR0dA", "partition": 0}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"replicas": (1, 2)}, "3 directories for 2 replicas"),
        ({"directories": (D1,)}, "1 directories for 3 replicas"),
        ({"leader_recovery_state": 7}, "unknown leader recovery state 7"),
    ],
)
def test_an_impossible_change_is_refused(fields, reason):
    with pytest.raises(InconsistentRecordError, match=reason) as caught:
        PARTITION.changed_by(change(**fields))
    assert caught.value.record == "PartitionChangeRecord"


def test_clearing_eligible_replicas_is_a_change_only_where_there_are_some():
    cleared = PARTITION.without_elr()

    assert (cleared.eligible_leader_replicas, cleared.last_known_elr, cleared.partition_epoch) == ((), (), 10)
    assert cleared.without_elr() is cleared


@pytest.mark.parametrize("at", METADATA_VERSIONS[6:], ids=str)
def test_a_record_holds_what_its_level_can_hold(at):
    record, version = PARTITION.to_record(TOPIC_ID, 4, at, elr_enabled=True)

    assert version == at.partition_record_version
    assert record.directories == ((D1, D2, D3) if at.level >= 17 else ())
    assert record.eligible_leader_replicas == ((3,) if at.level >= 23 else None)
    assert (record.partition_id, record.topic_id, record.leader_epoch) == (4, TOPIC_ID, 5)


def test_empty_tagged_lists_are_left_out_of_the_record():
    at = MetadataVersion.parse("4.3-IV0")
    record, _ = PARTITION.without_elr().to_record(TOPIC_ID, 0, at, elr_enabled=True)

    assert record.eligible_leader_replicas is None
    assert record.last_known_elr is None


def test_with_eligible_replicas_switched_off_they_are_not_written():
    record, _ = PARTITION.to_record(TOPIC_ID, 0, MetadataVersion.parse("4.3-IV0"), elr_enabled=False)

    assert (record.eligible_leader_replicas, record.last_known_elr) == (None, None)


def test_a_change_shares_the_lists_that_stay_equal():
    changed = PARTITION.changed_by(change(isr=(1, 2)))

    assert changed.isr is PARTITION.isr
    assert changed.replicas is PARTITION.replicas
