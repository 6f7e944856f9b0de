from falkirk.cli.kip_584_changes import Change, change_lines
from falkirk.client.feature_update import FeatureUpdate, FeatureUpdateFailure
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.upgrade_type import UpgradeType

SAFE, UNSAFE = UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE


def test_marks_say_what_is_asked_for_whether_it_can_be_or_not():
    assert Change.of(FeatureUpdate(1), 0) is Change.ADD
    assert Change.of(FeatureUpdate(1), 2) is Change.UPGRADE
    assert Change.of(FeatureUpdate(3, SAFE), 0) is Change.DOWNGRADE
    assert Change.of(FeatureUpdate(1, UNSAFE), 2) is Change.DOWNGRADE
    assert Change.of(FeatureUpdate(0, SAFE), 0) is Change.DELETE


def test_an_error_stands_where_ok_would_and_marks_end_in_one_column():
    updates = {"z": FeatureUpdate(10), "a": FeatureUpdate(0, SAFE)}
    outcomes = {"a": None, "z": FeatureUpdateFailure(ErrorCode.FEATURE_UPDATE_FAILED, "Broker 3")}
    assert list(change_lines(updates, {"a": 12}, outcomes)) == [
        "   [Add] Feature: z       ExistingFinalizedMaxVersion: -  NewFinalizedMaxVersion: 10       Result: Broker 3",
        "[Delete] Feature: a       ExistingFinalizedMaxVersion: 12  NewFinalizedMaxVersion: -       Result: OK",
    ]
    assert list(change_lines({}, {}, {})) == []
