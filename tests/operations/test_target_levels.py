"""What upgrade-all and downgrade-all go to on ZooKeeper; cli/features/test_actions.py has clusters with a quorum."""

import pytest

from falkirk.client.feature_metadata import FeatureMetadata, SupportedVersionRange
from falkirk.client.node_versions import FinalizedVersionRange
from falkirk.operations.errors import OperationError
from falkirk.operations.target_levels import target_levels
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions import inter_broker_protocol
from falkirk.versions.release import Release


def ibp(release):
    return inter_broker_protocol.feature_level(inter_broker_protocol.latest(Release.parse(release)))


def a_cluster(finalized, supported):
    return FeatureMetadata(
        supported_features={name: SupportedVersionRange(1, highest) for name, highest in supported.items()},
        finalized_features={name: FinalizedVersionRange(1, level) for name, level in finalized.items()},
        finalized_features_epoch=1,
    )


def asked(features, release=None, named=None, *, up):
    target = target_levels(features, None if release is None else Release.parse(release), named or {}, is_upgrade=up)
    updates = target.updates(features, UpgradeType.UPGRADE if up else UpgradeType.SAFE_DOWNGRADE)
    return {name: update.max_version_level for name, update in updates.items()}


OLD = a_cluster({"a": 1, "ibp-feature": ibp("3.7")}, {"a": 3, "b": 2, "ibp-feature": ibp("3.9")})
NEW = a_cluster({"a": 3, "b": 2, "ibp-feature": ibp("3.9")}, {"a": 3, "b": 2, "ibp-feature": ibp("3.9")})


def test_everything_goes_up_to_what_the_node_supports():
    assert asked(OLD, up=True) == {"a": 3, "b": 2, "ibp-feature": ibp("3.9")}
    assert asked(NEW, up=True) == {}


def test_a_release_says_how_far_the_protocol_goes_up_and_levels_that_are_named_go_before():
    assert asked(OLD, "3.8", up=True) == {"a": 3, "b": 2, "ibp-feature": ibp("3.8")}
    assert asked(OLD, "3.7", {"a": 2, "c": 1}, up=True) == {"a": 2, "b": 2, "c": 1}


def test_down_go_all_levels_to_what_is_named_and_the_rest_is_deleted():
    assert asked(NEW, "3.8", up=False) == {"a": 0, "b": 0, "ibp-feature": ibp("3.8")}
    assert asked(NEW, None, {"a": 2}, up=False) == {"a": 2, "b": 0}
    assert asked(NEW, "3.7", {"a": 3, "b": 1}, up=False) == {"b": 1, "ibp-feature": ibp("3.7")}


def test_without_a_release_or_levels_only_what_the_node_cannot_run_goes_down():
    assert asked(NEW, up=False) == {}
    lagging = a_cluster({"a": 3, "b": 2}, {"a": 2})
    assert asked(lagging, up=False) == {"a": 2, "b": 0}


def test_whose_levels_they_are_is_said():
    def said(release=None, named=None, *, up):
        return target_levels(NEW, release, named or {}, is_upgrade=up).source

    assert said(up=True) == said(named={"a": 1}, up=True) == said(up=False) == "the levels that the node supports"
    assert said(named={"a": 1}, up=False) == "the levels that were named"
    assert said(Release.parse("3.8"), {"a": 1}, up=False) == "the levels of release 3.8.1"


def test_real_kafka_on_zookeeper_supports_nothing():
    assert asked(a_cluster({}, {}), up=True) == asked(a_cluster({}, {}), up=False) == {}


def test_a_release_without_brokers_on_zookeeper_is_refused():
    with pytest.raises(OperationError, match=r"on ZooKeeper, and release 4\.0\.0 has none"):
        asked(OLD, "4.0", up=True)


def test_levels_that_are_named_go_before_those_of_a_release_with_a_quorum():
    features = a_cluster({"metadata.version": 21}, {"metadata.version": 25, "f": 3})
    assert asked(features, "3.9", {"f": 2}, up=True) == {"f": 2}
    assert asked(features, "3.8", {"metadata.version": 19}, up=False) == {"metadata.version": 19}
