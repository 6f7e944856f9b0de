"""What the controller knows of features."""

from controllers import Broker, make_controller

from falkirk.metadata.image.broker_registration import SupportedFeature
from falkirk.protocol.messages import RegisterControllerRecord
from falkirk.protocol.messages.register_controller_record import ControllerFeature
from falkirk.versions.release import Release


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
    assert make_controller(features={"eligible.leader.replicas.version": 1}).features.is_elr_enabled


def test_all_registered_nodes_that_cannot_run_a_level_are_named():
    brokers = [
        Broker(broker_id=1, features={"group.version": (0, 0)}),
        Broker(broker_id=2, fenced=True, features={"group.version": (0, 0)}),
        Broker(broker_id=3),
    ]
    registration = RegisterControllerRecord(3001, b"i" * 16, features=[ControllerFeature("metadata.version", 7, 30)])
    features = make_controller(brokers=brokers, records=[registration]).features
    assert [(node.node_id, node.is_controller) for node in features.unsupporting_nodes("group.version", 1)] == [
        (1, False),
        (2, False),
        (3001, True),
    ]
    (controller,) = features.unsupporting_nodes("metadata.version", 33)
    assert controller.supported == SupportedFeature("metadata.version", 7, 30)
    # Level 0 is what those have who do not know a feature.
    assert features.unsupporting_nodes("group.version", 0) == []
