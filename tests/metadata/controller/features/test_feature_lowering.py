"""Lowering features: what is lost, what SAFE refuses, what goes first."""

import pytest
from controllers import Broker, run
from feature_updates import ELR, SAFE, TOGETHER, UNSAFE, UPGRADE, a_controller, decide

from falkirk.metadata.controller.state import operation_limit
from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.levels.lowering import lower
from falkirk.protocol.feature_update_tags import decode_details
from falkirk.protocol.messages import (
    BeginTransactionRecord,
    ClearElrRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from falkirk.versions.features import FALKIRK_DOWNGRADE
from falkirk.versions.metadata_version import MetadataVersion

TOPIC_ID = b"t" * 16
CORDONED = Broker(broker_id=1, directory_count=2, cordoned=[1], features={FALKIRK_DOWNGRADE: (0, 1)})


def partition(partition_id, *, isr, elr=(), last_known_elr=(), leader=-1):
    return PartitionRecord(
        partition_id=partition_id,
        topic_id=TOPIC_ID,
        replicas=(1, 2),
        isr=isr,
        leader=leader,
        eligible_leader_replicas=elr,
        last_known_elr=last_known_elr,
        directories=(b"d" * 16, b"e" * 16),
    )


def with_partitions(*partitions):
    return a_controller(features={ELR: 1}, records=[TopicRecord("orders", TOPIC_ID), *partitions])


def test_safe_goes_on_where_the_image_loses_nothing():
    controller = a_controller()
    decision = decide(controller, ("metadata.version", 17, SAFE))
    assert decision.errors == {}
    assert [record for record, _ in decision.records] == [FeatureLevelRecord("metadata.version", 17)]
    assert decision.needs_undo_bundle
    run(controller, decision.result())
    assert controller.state.metadata_version.name == "3.7-IV2"


def test_safe_refuses_with_the_list_of_what_would_be_lost():
    decision = decide(a_controller(brokers=[CORDONED]), ("metadata.version", 29, SAFE))
    message = decision.errors["metadata.version"].message
    refusing = "Refusing to perform the requested downgrade because it might delete metadata information."
    assert message.startswith(f"Unsupported metadata.version downgrade from 33 to 29. {refusing} It would lose: ")
    (loss,) = decision.losses
    assert loss.detail in message
    result = decision.result()
    assert result.records == ()
    assert result.response.error_message == TOGETHER + message
    details = decode_details(result.response.unknown_tagged_fields)
    assert [item["key"] for item in details.losses] == [loss.key_text]


def test_unsafe_goes_on_and_the_ledger_is_that_of_the_lowering_itself():
    controller = a_controller(brokers=[CORDONED])
    decision = decide(controller, ("metadata.version", 29, UNSAFE))
    assert decision.errors == {}
    lowered = lower(controller.state.image, MetadataVersion.of_level(29), Provenance(0, 0, 0))
    assert [loss.reported() for loss in decision.losses] == [loss.reported() for loss in lowered.report.losses]
    assert decision.result().records == (decision.records[-1],)


@pytest.mark.parametrize("type_", [SAFE, UNSAFE])
def test_a_dry_run_tells_the_same_ledger(type_):
    controller = a_controller(brokers=[CORDONED])
    told = decide(controller, ("metadata.version", 29, type_), dry=True).result()
    made = decide(controller, ("metadata.version", 29, type_)).result()
    assert told.response == made.response
    assert told.records == ()


@pytest.mark.parametrize("type_", [SAFE, UNSAFE])
def test_no_level_below_3_7_is_reached(type_):
    (error,) = decide(a_controller(release="4.0"), ("metadata.version", 14, type_)).errors.values()
    assert error.message == "Invalid metadata.version 14. Unable to set a metadata.version less than 3.7-IV0"


def test_the_floor_is_no_obstacle_on_the_way_up():
    controller = a_controller(release="3.9", metadata_version="3.5-IV2")
    assert decide(controller, ("metadata.version", 14, UPGRADE)).errors == {}


def test_unsafe_goes_on_with_features_that_only_the_levels_release_does_not_know():
    """KIP-1155: the level goes down to dodge a bug, and the software stays."""
    controller = a_controller(features={"share.version": 1, "streams.version": 1})
    level = MetadataVersion.parse("4.0-IV0").level
    refused = decide(controller, ("metadata.version", level, SAFE))
    message = refused.errors["metadata.version"].message
    assert "in the same update, or before, or go on with UNSAFE: share.version 1 (release 4.0.0 does not" in message
    assert "streams.version 1 (release 4.0.0" in message

    decision = decide(controller, ("metadata.version", level, UNSAFE))
    assert decision.errors == {}
    assert decision.details.blockers == []
    kept = {each["key_fields"]["feature"]: each["detail"] for each in decision.details.inaccessible}
    assert kept.keys() == {"share.version", "streams.version"}
    assert kept["share.version"].endswith("it) stays: lower it before a node becomes one of that release")
    run(controller, decision.result())
    levels = controller.features.finalized_features()
    assert levels == {"metadata.version": level, "share.version": 1, "streams.version": 1}


def test_unsafe_does_not_go_on_without_what_a_feature_needs():
    controller = a_controller(features={ELR: 1, "share.version": 1})
    decision = decide(controller, ("metadata.version", 22, UNSAFE))
    message = decision.errors["metadata.version"].message
    assert f"{ELR} 1 (it needs metadata.version 4.0-IV1)" in message
    assert "share.version" not in message
    assert [each["incompatible_feature"] for each in decision.details.blockers] == [ELR]


def test_features_that_have_no_place_at_the_level_are_named():
    features = {"transaction.version": 2, "group.version": 1}
    decision = decide(a_controller(features=features), ("metadata.version", 21, SAFE), kraft_version=1)
    message = decision.errors["metadata.version"].message
    for name, level in features.items():
        assert f"{name} {level} (release 3.9.1 does not know it)" in message
    assert "kraft.version" not in message
    assert [each["incompatible_feature"] for each in decision.details.blockers] == sorted(features)


def test_dynamic_voters_are_named_where_the_release_has_none():
    (error,) = decide(a_controller(), ("metadata.version", 19, UNSAFE), kraft_version=1).errors.values()
    assert "kraft.version 1 (it needs metadata.version 3.9-IV0)" in error.message


def test_what_is_lowered_with_it_counts_as_lowered():
    controller = a_controller(features={"transaction.version": 2, "group.version": 1, "share.version": 2})
    names = ("transaction.version", "group.version", "share.version")
    decision = decide(controller, ("metadata.version", 17, SAFE), *((name, 0, SAFE) for name in names))
    assert decision.errors == {}
    run(controller, decision.result())
    assert controller.features.finalized_features() == {"metadata.version": 17}


def test_secrets_stay_out_of_the_ledger():
    scram = UserScramCredentialRecord("alice", 1, b"salt-of-alice", b"stored", b"server", 4096)
    decision = decide(a_controller(records=[scram]), ("metadata.version", 17, SAFE))
    assert decision.errors == {}
    assert b"salt-of-alice" not in repr(decision.result()).encode()


def test_eligible_replicas_beside_in_sync_ones_are_dropped_by_one_record():
    controller = with_partitions(partition(0, isr=(1,), elr=(2,), leader=1))
    decision = decide(controller, (ELR, 0, SAFE))
    assert decision.errors == {}
    assert [record for record, _ in decision.records] == [ClearElrRecord(""), FeatureLevelRecord(ELR, 0)]
    run(controller, decision.result())
    assert controller.state.image.topics.topic("orders").partition(0).eligible_leader_replicas == ()


def test_safe_names_partitions_that_have_only_eligible_replicas():
    controller = with_partitions(partition(0, isr=(), elr=(2,)), partition(1, isr=(1,), leader=1))
    decision = decide(controller, (ELR, 0, SAFE))
    assert "topic orders partition 0" in decision.errors[ELR].message
    assert "partition 1" not in decision.errors[ELR].message
    assert decision.result().records == ()


def test_unsafe_makes_eligible_replicas_the_in_sync_ones():
    controller = with_partitions(partition(0, isr=(), elr=(2,)))
    decision = decide(controller, (ELR, 0, UNSAFE))
    assert isinstance(decision.records[0].record, PartitionChangeRecord)
    assert decision.needs_undo_bundle
    run(controller, decision.result())
    after = controller.state.image.topics.topic("orders").partition(0)
    assert after.isr == (2,)
    assert after.eligible_leader_replicas == ()


def test_more_partitions_than_a_batch_holds_go_in_a_transaction_whose_last_batch_lowers_the_levels(monkeypatch):
    monkeypatch.setattr(operation_limit, "RECORDS_MAX", 4)
    controller = with_partitions(*(partition(number, isr=(), elr=(2,)) for number in range(9)))
    lowered = ("metadata.version", 22, UNSAFE), (ELR, 0, UNSAFE)
    dry = decide(controller, *lowered, dry=True).result()
    assert (dry.records, dry.transaction) == ((), ())
    result = decide(controller, *lowered).result()
    before = [type(record) for record, _ in result.transaction]
    assert before == [BeginTransactionRecord, *[PartitionChangeRecord] * 9]
    assert [record for record, _ in result.records] == [
        FeatureLevelRecord(ELR, 0),
        FeatureLevelRecord("metadata.version", 22),
        EndTransactionRecord(),
    ]
    run(controller, result)
    assert {each.isr for _, each in controller.state.image.topics.topic("orders").items()} == {(2,)}
    assert controller.features.finalized_features() == {"metadata.version": 22}


def test_eligible_replicas_that_go_with_their_feature_are_no_loss_of_metadata_version():
    controller = with_partitions(partition(0, isr=(1,), elr=(2,), leader=1))
    decision = decide(controller, ("metadata.version", 22, SAFE), (ELR, 0, SAFE))
    assert decision.errors == {}
    assert decision.records[-1].record == FeatureLevelRecord("metadata.version", 22)
    assert [loss.key_text for loss in decision.losses] == ["topic orders partition 0"]
