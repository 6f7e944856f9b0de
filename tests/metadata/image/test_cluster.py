import pytest

from falkirk.metadata.image.cluster import ClusterDelta, ClusterImage
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.protocol.messages import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature
from falkirk.versions.metadata_version import METADATA_VERSIONS, MetadataVersion

D1, D2, D3 = b"\x01" * 16, b"\x02" * 16, b"\xff" * 16


def registration(**fields):
    return RegisterBrokerRecord(broker_id=1, broker_epoch=10, incarnation_id=b"i" * 16, **fields)


def cluster(*records):
    delta = ClusterDelta(ClusterImage())
    for record in records:
        REPLAY[type(record)](delta, record)
    return delta.apply()


REPLAY = {
    RegisterBrokerRecord: ClusterDelta.replay_register_broker,
    UnregisterBrokerRecord: ClusterDelta.replay_unregister_broker,
    BrokerRegistrationChangeRecord: ClusterDelta.replay_registration_change,
    FenceBrokerRecord: ClusterDelta.replay_fence,
    UnfenceBrokerRecord: ClusterDelta.replay_unfence,
    RegisterControllerRecord: ClusterDelta.replay_register_controller,
    UnregisterControllerRecord: ClusterDelta.replay_unregister_controller,
}


def changed(**fields):
    first = registration(fenced=False, log_dirs=(D2, D1), cordoned_log_dirs=(D2,))
    return cluster(first, BrokerRegistrationChangeRecord(1, 10, **fields)).brokers[1]


def test_the_order_of_listeners_features_and_log_dirs_has_no_meaning():
    one = registration(
        end_points=[BrokerEndpoint("B", "h", 1, 0), BrokerEndpoint("A", "h", 2, 1)],
        features=[BrokerFeature("y", 0, 1), BrokerFeature("x", 0, 2)],
        log_dirs=(D1, D3, D2),
    )
    other = registration(
        end_points=[BrokerEndpoint("A", "h", 2, 1), BrokerEndpoint("B", "h", 1, 0)],
        features=[BrokerFeature("x", 0, 2), BrokerFeature("y", 0, 1)],
        log_dirs=(D2, D1, D3),
    )

    assert cluster(one) == cluster(other)
    # Kafka compares uuids as signed numbers: ff... comes first.
    assert cluster(one).brokers[1].log_dirs == (D3, D1, D2)


def test_a_change_that_names_nothing_changes_nothing():
    assert changed() == cluster(registration(fenced=False, log_dirs=(D2, D1), cordoned_log_dirs=(D2,))).brokers[1]


@pytest.mark.parametrize(("value", "fenced"), [(1, True), (0, False), (-1, False)])
def test_fencing_has_three_values(value, fenced):
    assert changed(fenced=value).fenced is fenced


def test_a_controlled_shutdown_begins_and_never_ends_by_a_change():
    assert changed(in_controlled_shutdown=1).in_controlled_shutdown
    assert not changed(in_controlled_shutdown=0).in_controlled_shutdown


def test_empty_log_dirs_change_nothing_and_empty_cordons_lift_them():
    assert changed(log_dirs=()).log_dirs == (D1, D2)
    assert changed(log_dirs=(D3,)).log_dirs == (D3,)
    assert changed(cordoned_log_dirs=()).cordoned_log_dirs == ()
    assert changed(cordoned_log_dirs=None).cordoned_log_dirs == (D2,)


def test_the_records_of_before_3_3_fence_and_unfence():
    fenced = cluster(registration(fenced=False), FenceBrokerRecord(1, 10))

    assert fenced.brokers[1].fenced
    assert not cluster(registration(), UnfenceBrokerRecord(1, 10)).brokers[1].fenced


@pytest.mark.parametrize(
    "record", [BrokerRegistrationChangeRecord(1, 11), FenceBrokerRecord(1, 11), UnfenceBrokerRecord(1, 11)]
)
def test_a_change_of_an_old_registration_is_refused(record):
    with pytest.raises(InconsistentRecordError, match=r"broker epoch 11, the broker's is 10") as caught:
        cluster(registration(), record)
    assert caught.value.record == type(record).__name__


@pytest.mark.parametrize(
    "record", [BrokerRegistrationChangeRecord(2, 10), FenceBrokerRecord(2, 10), UnfenceBrokerRecord(2, 10)]
)
def test_a_change_of_an_unknown_broker_is_refused(record):
    with pytest.raises(InconsistentRecordError, match=r"\(broker 2\): the broker is not registered"):
        cluster(registration(), record)


@pytest.mark.parametrize("fields", [{"fenced": 2}, {"in_controlled_shutdown": -1}])
def test_a_change_of_unknown_meaning_is_refused(fields):
    with pytest.raises(InconsistentRecordError, match="unknown value"):
        changed(**fields)


def test_registering_again_forgets_what_was_before_and_unregistering_everything():
    again = cluster(registration(cordoned_log_dirs=(D1,)), registration(rack="r"))

    assert again.brokers[1].cordoned_log_dirs is None
    assert cluster(registration(), UnregisterBrokerRecord(1, 10)) == ClusterImage()
    assert cluster(UnregisterBrokerRecord(9, 1), UnregisterControllerRecord(9)) == ClusterImage()


def test_controllers_register_and_unregister():
    record = RegisterControllerRecord(7, b"i" * 16, zk_migration_ready=True)

    assert cluster(record).controllers[7].zk_migration_ready
    assert cluster(record, UnregisterControllerRecord(7)) == ClusterImage()


@pytest.mark.parametrize("at", METADATA_VERSIONS[6:], ids=str)
def test_a_registration_is_written_with_what_its_level_can_hold(at):
    full = registration(
        in_controlled_shutdown=True, is_migrating_zk_broker=True, log_dirs=(D1, D2), cordoned_log_dirs=(D1,)
    )
    record, version = cluster(full).brokers[1].to_record(at)

    assert version == at.register_broker_record_version
    assert record.in_controlled_shutdown
    assert record.is_migrating_zk_broker is (at.level >= 8)
    assert record.log_dirs == ((D1, D2) if at.level >= 17 else ())
    assert record.cordoned_log_dirs == ((D1,) if at.level >= 30 else None)


def test_cordons_that_are_unknown_or_empty_stay_apart():
    at = MetadataVersion.parse("4.3-IV0")

    assert cluster(registration()).brokers[1].to_record(at)[0].cordoned_log_dirs is None
    assert cluster(registration(cordoned_log_dirs=())).brokers[1].to_record(at)[0].cordoned_log_dirs == ()
