"""Which heartbeats need no closer look; that the long way round finds the same is seen in test_any_history."""

from typing import Any

import pytest
from consumer_world import ConsumerWorld
from msgspec.structs import replace

from falkirk.coordinator.consumer.consumer_group import ResolvedRegex
from falkirk.coordinator.consumer.member import MemberState
from falkirk.coordinator.consumer.steady_heartbeats import is_steady
from falkirk.coordinator.runtime.client import ClientContext
from falkirk.protocol.messages import ConsumerGroupHeartbeatRequest
from falkirk.protocol.messages.consumer_group_member_metadata_value import ClassicMemberMetadata

BARE = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m1", member_epoch=1)
CLIENT = ClientContext(api_version=1, client_id="client-m1", client_host="/10.0.0.1")


def settled() -> ConsumerWorld:
    world = ConsumerWorld()
    assert world.join("m1", "foo").member_epoch == 1
    # The first one looks when the topics are to be looked at again.
    world.beat("m1", 1)
    assert looks_steady(world)
    return world


def looks_steady(
    world: ConsumerWorld, request: ConsumerGroupHeartbeatRequest = BARE, client: ClientContext = CLIENT
) -> bool:
    return is_steady(world.group, world.group.members["m1"], client, request, world.context.now_ms)


def test_a_member_that_has_all_and_says_nothing_is_steady():
    world = settled()
    assert looks_steady(world, replace(BARE, topic_partitions=[]))
    # Its session begins anew with each.
    world.pass_time(44_000)
    world.beat("m1", 1)
    world.pass_time(44_000)
    assert list(world.group.members) == ["m1"]
    world.pass_time(1_001)
    assert "g" not in world.context.groups or not world.group.members


@pytest.mark.parametrize(
    "said",
    [
        {"member_epoch": 0},
        {"member_epoch": 2},
        {"member_epoch": -1},
        {"subscribed_topic_names": ("foo",)},
        {"subscribed_topic_regex": ""},
        {"rebalance_timeout_ms": 5},
        {"instance_id": "i"},
        {"rack_id": "r"},
        {"server_assignor": "range"},
    ],
)
def test_who_says_something_is_listened_to(said: dict[str, Any]):
    assert not looks_steady(settled(), replace(BARE, **said))


@pytest.mark.parametrize("other", [{"client_id": "other"}, {"client_host": "/10.9.9.9"}])
def test_a_client_that_has_changed_is_noticed(other: dict[str, str]):
    assert not looks_steady(settled(), client=replace(CLIENT, **other))


@pytest.mark.parametrize(
    "is_so",
    [
        {"state": MemberState.UNRELEASED_PARTITIONS},
        {"has_metadata": False},
        {"instance_id": "i"},
        {"classic_metadata": ClassicMemberMetadata()},
    ],
)
def test_a_member_that_is_to_be_led_on_is_looked_at(is_so: dict[str, Any]):
    world = settled()
    world.group.members["m1"] = replace(world.group.members["m1"], **is_so)
    assert not looks_steady(world)


@pytest.mark.parametrize(
    "is_so",
    [
        {"group_epoch": 2},
        {"group_epoch": 0},
        {"target_epoch": 2},
        {"metadata_refresh_due_ms": 0},
        {"metadata_refresh_epoch": 2},
        {"regex_subscribers": {"f.*": 1}},
        {"resolved_regexes": {"f.*": ResolvedRegex(frozenset())}},
    ],
)
def test_a_group_in_which_something_is_to_be_done_is_looked_at(is_so: dict[str, Any]):
    world = settled()
    for name, value in is_so.items():
        setattr(world.group, name, value)
    assert not looks_steady(world)
