"""Classic groups as both coordinators load them."""

import pytest
from group_records import subscription

from falkirk.coordinator.prediction.classic_group import ClassicGroup, load_classic_group
from falkirk.coordinator.prediction.replay_error import ReplayError
from falkirk.coordinator.records.loader_rules import loader_rules
from falkirk.versions.release import Release

KAFKA_3, KAFKA_4_3, KAFKA_4_4 = (loader_rules(Release.parse(name)) for name in ("3.9", "4.3", "4.4"))
CUT_IN_A_NUMBER = b"\0\0\0"
CUT_IN_A_NAME = subscription("topic")[:8]


def group(*members, protocol_type="consumer", protocol="range"):
    return {"protocol_type": protocol_type, "protocol": protocol, "members": list(members)}


def member(member_id, data=None, instance=None):
    data = subscription("t") if data is None else data
    return {"member_id": member_id, "group_instance_id": instance, "subscription": data}


def test_a_group_without_members_and_protocol_type_is_simple():
    assert load_classic_group(group(protocol_type=""), KAFKA_4_3).is_simple
    assert not load_classic_group(group(), KAFKA_4_3).is_simple
    assert load_classic_group(group(member("a"), protocol_type=""), KAFKA_4_3) == ClassicGroup(
        1, has_protocol_type=False
    )


def test_an_instance_id_stands_once():
    value = group(member("a", instance="i"), member("b", instance="i"))
    with pytest.raises(ReplayError, match="static member i"):
        load_classic_group(value, KAFKA_4_4)
    assert load_classic_group(group(member("a"), member("b")), KAFKA_4_4).members == 2


def test_a_member_may_stand_twice_if_nobody_follows():
    assert load_classic_group(group(member("a"), member("a")), KAFKA_3).members == 1
    with pytest.raises(ReplayError, match="no protocol"):
        load_classic_group(group(member("a"), member("a"), member("b")), KAFKA_3)


@pytest.mark.parametrize("rules", [KAFKA_3, KAFKA_4_3])
def test_a_subscription_that_does_not_parse_fails_unless_cut_off_in_a_number(rules):
    assert load_classic_group(group(member("a", CUT_IN_A_NUMBER)), rules).members == 1
    with pytest.raises(ReplayError, match="subscription of member a"):
        load_classic_group(group(member("a", CUT_IN_A_NAME)), rules)
    assert load_classic_group(group(member("a", CUT_IN_A_NAME), protocol_type="connect"), rules).members == 1
    assert load_classic_group(group(member("a", CUT_IN_A_NAME), protocol=None), rules).members == 1


def test_a_subscription_is_but_a_warning_since_4_4():
    assert load_classic_group(group(member("a", CUT_IN_A_NAME)), KAFKA_4_4).members == 1


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("m1", "m2"), ("q", "b")])
def test_of_two_bad_subscriptions_the_one_in_the_lower_bucket_of_the_hash_map_decides(first, second):
    with pytest.raises(ReplayError, match=f"member {first}"):
        load_classic_group(group(member(second, CUT_IN_A_NUMBER), member(first, CUT_IN_A_NAME)), KAFKA_4_3)
    assert load_classic_group(group(member(first, CUT_IN_A_NUMBER), member(second, CUT_IN_A_NAME)), KAFKA_4_3)
