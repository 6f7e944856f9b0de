from falkirk.cli.features.changes_view import change_lines
from falkirk.client.feature_update import FeatureUpdate, FeatureUpdateFailure
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.upgrade_type import UpgradeType

SAFE = UpgradeType.SAFE_DOWNGRADE


def test_an_error_stands_where_ok_would_and_marks_end_in_one_column():
    updates = {"z": FeatureUpdate(10), "a": FeatureUpdate(0, SAFE)}
    outcomes = {"a": None, "z": FeatureUpdateFailure(ErrorCode.FEATURE_UPDATE_FAILED, "Broker 3")}
    assert list(change_lines(updates, {"a": 12}, outcomes)) == [
        "   [Add] Feature: z       ExistingFinalizedMaxVersion: -  NewFinalizedMaxVersion: 10       Result: Broker 3",
        "[Delete] Feature: a       ExistingFinalizedMaxVersion: 12  NewFinalizedMaxVersion: -       Result: OK",
    ]
    assert list(change_lines({}, {}, {})) == []
