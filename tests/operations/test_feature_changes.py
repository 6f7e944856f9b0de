from falkirk.client.feature_update import FeatureUpdate
from falkirk.operations.feature_changes import ChangeKind
from falkirk.protocol.upgrade_type import UpgradeType

SAFE, UNSAFE = UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE


def test_marks_say_what_is_asked_for_whether_it_can_be_or_not():
    assert ChangeKind.of(FeatureUpdate(1), 0) is ChangeKind.ADD
    assert ChangeKind.of(FeatureUpdate(1), 2) is ChangeKind.UPGRADE
    assert ChangeKind.of(FeatureUpdate(3, SAFE), 0) is ChangeKind.DOWNGRADE
    assert ChangeKind.of(FeatureUpdate(1, UNSAFE), 2) is ChangeKind.DOWNGRADE
    assert ChangeKind.of(FeatureUpdate(0, SAFE), 0) is ChangeKind.DELETE
