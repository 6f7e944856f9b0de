"""Which servers follow when metadata.version is lowered."""

import pytest

from falkirk.metadata.controller.features.downgrade_support import (
    can_commit_by_snapshot,
    can_commit_lowering,
    supports_downgrade,
)
from falkirk.metadata.image.broker_registration import SupportedFeature


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


@pytest.mark.parametrize(
    ("support", "voters", "can_commit"),
    [
        ({1: True}, {1}, True),
        ({}, {1}, False),
        ({1: True, 2: True, 3: False}, {1, 2, 3}, True),
        ({1: True, 2: False, 4: True}, {1, 2, 3}, False),
        ({1: True, 2: True}, {1, 2, 3, 4}, False),
        ({1: True, 2: True, 3: True}, {1, 2, 3, 4}, True),
    ],
)
def test_voters_that_follow_must_be_a_majority(support, voters, can_commit):
    assert can_commit_lowering(voters, support) is can_commit


@pytest.mark.parametrize(
    ("support", "voters", "can_commit"),
    [
        ({1: False, 2: False}, {1, 2}, False),
        ({1: True, 2: False}, {1, 2}, True),
        ({1: True}, {1, 2, 3, 4}, True),
        ({1: True, 6: True}, {1, 2, 3, 4, 5}, False),
        ({1: True, 2: True}, {1, 2, 3, 4, 5}, True),
        ({1: True, 2: True}, {1, 2, 3, 4, 5, 6}, True),
        ({1: True, 2: True}, {1, 2, 3, 4, 5, 6, 7}, False),
    ],
)
def test_those_that_follow_and_one_with_the_snapshot_must_block_every_majority(support, voters, can_commit):
    assert can_commit_by_snapshot(voters, support) is can_commit
