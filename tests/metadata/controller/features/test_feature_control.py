"""What the controller knows of features, and which updates of their levels it makes."""

import pytest
from controllers import make_controller, run
from feature_updates import ELR, SAFE, TOGETHER, UPGRADE, a_controller, decide

from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConfigRecord,
    FeatureLevelRecord,
    ZkMigrationStateRecord,
)
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.features import FALKIRK_DOWNGRADE
from falkirk.versions.release import Release

WITHOUT_TYPE = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
)


def test_supported_and_finalized_features_are_told():
    features = make_controller(release="4.4", features={"group.version": 1}).features
    assert features.finalized_features(kraft_version=1) == {
        "group.version": 1,
        "kraft.version": 1,
        "metadata.version": 33,
    }
    assert str(features.supported_features["metadata.version"]) == "7-33"
    supported = Release.parse("4.4").supported_features(unstable=True)
    unstable = make_controller(release="4.4", supported_features=supported).features
    assert str(unstable.supported_features["metadata.version"]) == "7-34"


def test_elr_is_enabled_by_its_feature():
    assert not make_controller().features.is_elr_enabled
    assert make_controller(features={ELR: 1}).features.is_elr_enabled


def test_a_level_is_raised_and_taken_away():
    controller = a_controller()
    run(controller, decide(controller, ("group.version", 1, UPGRADE)).result())
    assert controller.features.finalized_features()["group.version"] == 1
    run(controller, decide(controller, ("group.version", 0, SAFE)).result())
    assert "group.version" not in controller.features.finalized_features()


def test_a_dry_run_answers_the_same_without_a_record():
    controller = a_controller(metadata_version="4.0-IV3")
    updates = [("metadata.version", 33, UPGRADE), ("share.version", 2, UPGRADE)]
    told, made = decide(controller, *updates, dry=True).result(), decide(controller, *updates).result()
    assert told.response == made.response
    assert told.records == ()
    assert len(made.records) == 2


def test_a_level_that_is_there_already_takes_no_record():
    controller = a_controller(features={"group.version": 1})
    for type_ in UpgradeType:
        decision = decide(controller, ("group.version", 1, type_))
        assert decision.errors == {}
        assert decision.records == ()


def test_metadata_version_is_raised_before_what_may_rest_on_it_and_lowered_after_all_else():
    controller = a_controller(metadata_version="4.0-IV0")
    raised = decide(controller, ("group.version", 1, UPGRADE), (ELR, 1, UPGRADE), ("metadata.version", 33, UPGRADE))
    assert raised.errors == {}
    assert raised.records[0].record == FeatureLevelRecord("metadata.version", 33)
    controller = a_controller(features={"group.version": 1, "transaction.version": 2})
    updates = [("metadata.version", 21, SAFE), ("transaction.version", 0, SAFE), ("group.version", 0, SAFE)]
    lowered = decide(controller, *updates)
    assert lowered.errors == {}
    assert lowered.records[-1].record == FeatureLevelRecord("metadata.version", 21)
    assert len(lowered.records) == 3


def test_eligible_leader_replicas_come_with_one_min_insync_replicas_for_all():
    controller = a_controller(static_configs={"min.insync.replicas": "2"})
    records = [record for record, _ in decide(controller, (ELR, 1, UPGRADE)).records]
    assert records == [ConfigRecord(4, "", "min.insync.replicas", "2"), FeatureLevelRecord(ELR, 1)]


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (("group.version", 2, UPGRADE), "Local controller 3000 only supports versions 0-1"),
        (("foo.version", 1, UPGRADE), "Local controller 3000 does not support this feature."),
        (("foo.version", 0, SAFE), "Feature foo.version not found."),
        (("group.version", -1, SAFE), "A feature version cannot be less than 0."),
        (("group.version", 1, 4), "The controller does not support the given upgrade type."),
        (("group.version", 1, 0), "The controller does not support the given upgrade type."),
        (("group.version", 1, SAFE), "Can't downgrade to a newer version."),
        (
            ("share.version", 0, UPGRADE),
            WITHOUT_TYPE,
        ),
        ((FALKIRK_DOWNGRADE, 1, UPGRADE), "Local controller 3000 does not support this feature."),
        ((FALKIRK_DOWNGRADE, 0, SAFE), "Feature falkirk.downgrade not found."),
    ],
)
def test_what_cannot_be_is_refused_in_kafkas_words(update, reason):
    decision = decide(a_controller(features={"share.version": 2}), update)
    name, level, _ = update
    message = f"Invalid update version {level} for feature {name}. {reason}"
    assert decision.errors[name] == (ErrorCode.INVALID_UPDATE_VERSION, message)
    assert decision.result().response.error_message == TOGETHER + message


def test_a_feature_is_refused_that_needs_another_at_a_higher_level():
    controller = a_controller(metadata_version="4.0-IV0")
    (error,) = decide(controller, (ELR, 1, UPGRADE)).errors.values()
    needs = f"{ELR} could not be set to 1 because it depends on metadata.version level 23"
    assert error.message == f"Invalid update version 1 for feature {ELR}. {needs}"
    # What the same update raises counts as raised.
    assert decide(controller, (ELR, 1, UPGRADE), ("metadata.version", 23, UPGRADE)).errors == {}


def test_from_4_0_on_an_update_is_made_as_a_whole_or_not_at_all():
    controller = a_controller()
    result = decide(controller, ("group.version", 1, UPGRADE), ("share.version", 9, UPGRADE)).result()
    assert result.records == ()
    assert result.response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert result.response.results == []


def test_before_4_0_each_feature_is_updated_for_itself():
    controller = a_controller(release="3.9", metadata_version="3.7-IV4")
    result = decide(controller, ("metadata.version", 21, UPGRADE), ("foo.version", 1, UPGRADE)).result()
    assert [record for record, _ in result.records] == [FeatureLevelRecord("metadata.version", 21)]
    assert result.response.error_code == ErrorCode.NONE
    assert [(each.feature, each.error_code) for each in result.response.results] == [
        ("foo.version", ErrorCode.INVALID_UPDATE_VERSION),
        ("metadata.version", ErrorCode.NONE),
    ]


def test_a_feature_without_a_name_or_named_twice_is_an_invalid_request():
    controller = a_controller()
    twice = decide(controller, ("group.version", 1, UPGRADE), ("group.version", 0, SAFE))
    assert twice.errors["group.version"].error_code == ErrorCode.INVALID_REQUEST
    assert twice.result().records == ()
    (error,) = decide(controller, ("", 1, UPGRADE)).errors.values()
    assert error.error_code == ErrorCode.INVALID_REQUEST


def test_kraft_version_is_raised_by_the_quorum_if_it_can():
    newest, before = a_controller(), a_controller(release="4.0")
    (error,) = decide(newest, ("kraft.version", 0, SAFE), kraft_version=1).errors.values()
    told = "Invalid update version 0 for feature kraft.version. Can't downgrade the version of this feature."
    assert error.message == told
    reason = "Invalid upgrade of kraft.version to KRAFT_VERSION_1 because not all of the voters support it"
    (error,) = decide(newest, ("kraft.version", 1, UPGRADE), kraft_version_refusal=reason).errors.values()
    assert error == ApiError(ErrorCode.INVALID_UPDATE_VERSION, reason)
    # Kafka's tool asks for it with the levels of every release; before 4.1 nothing came of it.
    for controller, version, is_raised in ((newest, 0, True), (newest, 1, False), (before, 0, False)):
        decision = decide(controller, ("kraft.version", 1, UPGRADE), kraft_version=version)
        assert decision.errors == {}
        assert decision.records == ()
        assert decision.is_kraft_version_raised == is_raised


def test_metadata_version_stays_while_a_cluster_comes_from_zookeeper():
    controller = a_controller(release="3.9", metadata_version="3.7-IV4", records=[ZkMigrationStateRecord(1)])
    (error,) = decide(controller, ("metadata.version", 21, UPGRADE)).errors.values()
    reason = "Unable to modify metadata.version while a ZK migration is in progress."
    assert error.message == f"Invalid metadata.version 21. {reason}"


def test_an_empty_update_changes_nothing():
    result = decide(a_controller()).result()
    assert result.records == ()
    assert result.response.error_code == ErrorCode.NONE
