import pytest
from metadata_images import image_of, options_at, orders, partition, written

from falkirk.metadata.image.partition import Partition
from falkirk.metadata.levels.elr_conversion import without_elr
from falkirk.metadata.levels.writer import assess
from falkirk.protocol.messages import FeatureLevelRecord

ELR_ON = FeatureLevelRecord("eligible.leader.replicas.version", 1)


def state(isr, elr, last_known, leader=-1, recovery=0):
    return Partition((1, 2, 3), (bytes(16),) * 3, isr, leader, 5, 9, recovery, (), (), elr, last_known)


@pytest.mark.parametrize(
    ("before", "isr", "leader", "recovery"),
    [
        (state((), (2, 3), (1,)), (2, 3), -1, 0),
        (state((), (), (1,)), (1,), -1, 1),
        (state((1,), (2,), (), leader=1), (1,), 1, 0),
        (state((1,), (), (2,), leader=1, recovery=1), (1,), 1, 1),
        (state((), (2,), (), recovery=1), (2,), -1, 1),
    ],
    ids=["eligible ones", "only the last leader", "an ISR stays", "beside an ISR", "the recovery state stays"],
)
def test_who_leads_where_eligible_replicas_have_no_place(before, isr, leader, recovery):
    after = without_elr(before)

    assert (after.isr, after.leader, after.leader_recovery_state) == (isr, leader, recovery)
    assert after.eligible_leader_replicas == after.last_known_elr == ()
    assert (after.leader_epoch, after.partition_epoch) == (5, 9)


def test_the_partition_epoch_rises_for_live_replicas():
    assert without_elr(state((), (2,), ()), bumps_epoch=True).partition_epoch == 10
    assert without_elr(state((1,), (), ()), bumps_epoch=True).partition_epoch == 9


def test_without_eligible_replicas_nothing_is_done():
    plain = state((), (), ())

    assert without_elr(plain) is plain


def test_a_stopped_cluster_keeps_its_leaders_below_4_0():
    # A clean stop of the last broker leaves its partitions without an in-sync replica.
    stopped = partition(isr=(), leader=-1, eligible_leader_replicas=(1,), last_known_elr=(1,))
    image = image_of(ELR_ON, orders(), stopped)
    after, report = written(image, "3.9-IV0")

    assert after.topics.partition("orders", 0).isr == (1,)
    (loss,) = report.losses
    assert loss.before["isr"] == []
    assert loss.after == {"isr": [1], "leader": -1, "leader_recovery_state": 0}


def test_a_last_known_leader_may_miss_messages_and_that_is_a_loss():
    image = image_of(ELR_ON, orders(), partition(isr=(), leader=-1, last_known_elr=(3,), replicas=(1, 3)))
    after, report = written(image, "3.9-IV0")

    found = after.topics.partition("orders", 0)
    assert (found.isr, found.leader_recovery_state) == ((3,), 1)
    (loss,) = report.losses
    assert loss.kind == "last_known_leader_to_isr"
    assert "committed messages may be missing" in loss.detail


def test_above_4_0_eligible_replicas_stay_as_long_as_the_feature_does():
    image = image_of(ELR_ON, orders(), partition(isr=(), leader=-1, eligible_leader_replicas=(1,)))

    kept, report = written(image, "4.1-IV0")
    assert kept.topics == image.topics
    assert report.is_lossless
    off, report = written(image, "4.1-IV0", elr_enabled=False)
    assert off.topics.partition("orders", 0).isr == (1,)
    assert dict(off.features.finalized) == {}
    assert [loss.kind for loss in report.dropped_features] == ["feature_dropped"]


def test_a_live_downgrade_raises_the_epoch_of_what_it_converts():
    image = image_of(ELR_ON, orders(), partition(isr=(), leader=-1, eligible_leader_replicas=(1,)), partition(1))
    after, _ = written(image, "3.9-IV0", bumps_partition_epochs=True)

    assert [item.partition_epoch for item in after.topics.topic("orders").partitions] == [10, 9]


def test_a_partition_that_nobody_can_lead_is_told():
    report = assess(image_of(orders(), partition(isr=(), leader=-1)), options_at("3.9-IV0"))

    assert [loss.kind for loss in report.inaccessible] == ["partition_without_replica"]
    assert report.is_lossless
