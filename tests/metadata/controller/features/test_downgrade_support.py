"""Which servers follow when metadata.version is lowered."""

import pytest
from controllers import Broker, make_image

from falkirk.metadata.controller.features.downgrade_support import (
    can_commit_lowering,
    node_supports_downgrade,
    supports_downgrade,
    voters_without_support,
)
from falkirk.metadata.image.broker_registration import SupportedFeature
from falkirk.protocol.messages import RegisterControllerRecord
from falkirk.protocol.messages.register_controller_record import ControllerFeature


def test_a_server_says_by_our_feature_that_it_follows():
    assert supports_downgrade(
        [SupportedFeature("metadata.version", 7, 33), SupportedFeature("falkirk.downgrade", 0, 1)]
    )
    assert not supports_downgrade([SupportedFeature("falkirk.downgrade", 0, 0)])


def test_no_release_of_kafka_follows():
    assert not supports_downgrade([])
    assert not supports_downgrade([SupportedFeature("metadata.version", 7, 34)])


def test_a_release_that_had_the_level_of_kip_1155_would_follow():
    features = [SupportedFeature("metadata.version", 7, 36)]
    assert supports_downgrade(features, kip_1155_level=36)
    assert not supports_downgrade(features, kip_1155_level=37)


def test_a_node_follows_in_each_of_its_roles():
    follows, does_not = [ControllerFeature("falkirk.downgrade", 0, 1)], [ControllerFeature("metadata.version", 7, 33)]
    cluster = make_image(
        brokers=[Broker(broker_id=1, features={"falkirk.downgrade": (0, 1)}), Broker(broker_id=2), 4],
        records=[
            RegisterControllerRecord(1, b"i" * 16, features=follows),
            RegisterControllerRecord(3, b"i" * 16, features=does_not),
            RegisterControllerRecord(4, b"i" * 16, features=follows),
        ],
    ).cluster
    assert [node_supports_downgrade(cluster, node_id) for node_id in (1, 2, 3, 4, 5)] == [True] + [False] * 4


@pytest.mark.parametrize(
    ("marked", "voters", "can_commit"),
    [
        ((1,), {1}, True),
        ((), {1}, False),
        ((1, 2), {1, 2, 3}, True),
        ((1,), {1, 2, 3}, False),
        ((1, 2), {1, 2, 3, 4}, False),
        ((1, 2, 3), {1, 2, 3, 4}, True),
    ],
)
def test_voters_that_follow_must_be_a_majority(marked, voters, can_commit):
    follows = [ControllerFeature("falkirk.downgrade", 0, 1)]
    records = [
        RegisterControllerRecord(node_id, b"i" * 16, features=follows if node_id in marked else [])
        for node_id in voters
    ]
    cluster = make_image(records=records).cluster
    assert voters_without_support(cluster, voters) == tuple(sorted(voters - set(marked)))
    assert can_commit_lowering(cluster, voters) is can_commit
