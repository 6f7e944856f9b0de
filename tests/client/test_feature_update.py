import pytest

from falkirk.client.errors import FeatureUpdateFailedError
from falkirk.client.feature_update import (
    LEVEL_MAX,
    FeatureUpdate,
    FeatureUpdateFailure,
    missing_in_version_0,
    read_result,
    update_request,
)
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import (
    FeatureUpdateDetails,
    allows_forced_snapshot,
    encode_details,
)
from falkirk.protocol.messages import UpdateFeaturesResponse
from falkirk.protocol.messages.update_features_response import UpdatableFeatureResult
from falkirk.protocol.upgrade_type import UpgradeType

NODE = Endpoint("127.0.0.1", 9092)
UP, SAFE, UNSAFE = UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE


def request(updates, *, version_0=False, validate_only=False, forced_snapshot=False):
    return update_request(
        updates,
        version_0=version_0,
        timeout_ms=5,
        validate_only=validate_only,
        forced_snapshot=forced_snapshot,
    )


@pytest.mark.parametrize(("allow", "upgrade_type"), [(True, SAFE), (False, UP)])
def test_allow_downgrade_is_deprecated_and_stands_for_a_safe_downgrade(allow, upgrade_type):
    with pytest.deprecated_call():
        update = FeatureUpdate(3, allow_downgrade=allow)
    assert update == FeatureUpdate(3, upgrade_type)
    with pytest.deprecated_call():
        assert update.allow_downgrade is allow


def test_an_unsafe_downgrade_counts_as_allowed():
    with pytest.deprecated_call():
        assert FeatureUpdate(3, UNSAFE).allow_downgrade


@pytest.mark.parametrize(
    ("level", "upgrade_type", "why"),
    [
        (0, UP, "upgradeType flag should be set to SAFE_DOWNGRADE or UNSAFE_DOWNGRADE"),
        (-1, SAFE, "Cannot specify a negative version level"),
        (LEVEL_MAX + 1, UP, "32768 is above 32767"),
    ],
)
def test_a_level_that_no_update_can_have_is_refused(level, upgrade_type, why):
    with pytest.raises(ValueError, match=why):
        FeatureUpdate(level, upgrade_type)


def test_level_zero_is_a_downgrade_and_the_highest_level_an_upgrade():
    assert FeatureUpdate(0, SAFE).max_version_level == 0
    assert FeatureUpdate(LEVEL_MAX).upgrade_type is UP


def test_version_0_says_downgrades_by_a_flag():
    updates = {"a": FeatureUpdate(2), "b": FeatureUpdate(1, SAFE)}
    old, new = request(updates, version_0=True), request(updates)
    assert [(each.allow_downgrade, each.upgrade_type) for each in old.feature_updates] == [(False, UP), (True, UP)]
    assert [(each.allow_downgrade, each.upgrade_type) for each in new.feature_updates] == [(False, UP), (False, SAFE)]


def test_a_dry_run_and_consent_are_said_only_if_they_are_asked_for():
    updates = {"a": FeatureUpdate(2)}
    plain, asked = request(updates), request(updates, validate_only=True, forced_snapshot=True)
    assert [plain.validate_only, asked.validate_only] == [False, True]
    told = [allows_forced_snapshot(each.unknown_tagged_fields) for each in (plain, asked)]
    assert told == [False, True]


@pytest.mark.parametrize(
    ("update", "validate_only", "missing"),
    [
        (FeatureUpdate(1), False, None),
        (FeatureUpdate(1, SAFE), False, None),
        (FeatureUpdate(1, UNSAFE), False, "an UNSAFE downgrade"),
        (FeatureUpdate(1), True, "a dry run"),
    ],
)
def test_version_0_lacks_unsafe_downgrades_and_dry_runs(update, validate_only, missing):
    assert missing_in_version_0([FeatureUpdate(1), update], validate_only=validate_only) == missing


def test_results_of_each_feature_are_told_by_name_and_one_that_is_missing_is_a_failure():
    results = [UpdatableFeatureResult("b", ErrorCode.INVALID_UPDATE_VERSION, "no"), UpdatableFeatureResult("a")]
    result = read_result(NODE, ["c", "b", "a"], UpdateFeaturesResponse(results=results))
    assert list(result.values) == ["a", "b", "c"]
    assert result.values["a"] is None
    assert result.values["b"] == FeatureUpdateFailure(ErrorCode.INVALID_UPDATE_VERSION, "no")
    untold = result.values["c"]
    assert untold is not None
    assert "result for feature c" in untold.message
    with pytest.raises(FeatureUpdateFailedError, match=r"127\.0\.0\.1:9092: b: INVALID_UPDATE_VERSION: no"):
        result.all()


def test_an_answer_without_results_is_for_all_features():
    done = read_result(NODE, ["b", "a"], UpdateFeaturesResponse())
    assert done.values == {"a": None, "b": None}
    done.all()
    refused = UpdateFeaturesResponse(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message="all")
    failure = FeatureUpdateFailure(ErrorCode.INVALID_UPDATE_VERSION, "all")
    assert read_result(NODE, ["b", "a"], refused).values == {"a": failure, "b": failure}


def test_an_error_without_a_message_is_told_by_its_name():
    refused = UpdateFeaturesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=None)
    [failure] = read_result(NODE, ["a"], refused).values.values()
    assert failure == FeatureUpdateFailure(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "CLUSTER_AUTHORIZATION_FAILED")


def test_what_the_server_itemises_is_told():
    details = FeatureUpdateDetails(losses=[{"kind": "k"}])
    response = UpdateFeaturesResponse(unknown_tagged_fields=encode_details(details))
    assert read_result(NODE, ["a"], response).details == details
    assert read_result(NODE, ["a"], UpdateFeaturesResponse()).details is None
