"""Which servers are in the way of a level, and what is said of them."""

from dataclasses import replace

import pytest
from controllers import CONTROLLER_ID, Broker, make_controller

from falkirk.metadata.controller.features.feature_blockers import Need, duration_text, find_blockers
from falkirk.metadata.controller.features.feature_update import FeatureUpdateContext
from falkirk.protocol.messages import RegisterControllerRecord
from falkirk.protocol.messages.register_controller_record import ControllerFeature
from falkirk.versions.features import FALKIRK_DOWNGRADE
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange

NOW_MS = 100_000_000
CONTEXT = FeatureUpdateContext(api_version=1, kraft_version=0, voters=frozenset({CONTROLLER_ID}), now_ms=NOW_MS)
FOLLOWS = {FALKIRK_DOWNGRADE: (0, 1)}
LOWER = Need(feature=METADATA_VERSION, level=21, is_lowered=True, lowers_metadata=True)


def registered(controller_id, **features):
    """A controller's registration; `_` in names stands for a dot."""
    named = [ControllerFeature(name.replace("_", "."), *levels) for name, levels in features.items()]
    return RegisterControllerRecord(controller_id, b"i" * 16, features=named)


def blockers(need, *, voters=(CONTROLLER_ID,), release="4.4", follows=True, context=CONTEXT, **fields):
    supported = dict(Release.parse(release).supported_features())
    if follows:
        supported[FALKIRK_DOWNGRADE] = SupportedRange(0, 1)
    controller = make_controller(release=release, supported_features=supported, **fields)
    context = replace(context, voters=frozenset(voters))
    return find_blockers(need, controller.state.image, controller.settings, context)


def ids(found):
    return [(blocker.role, blocker.node_id, blocker.kind.value) for blocker in found.found]


def test_all_servers_that_cannot_run_a_level_are_named_with_what_they_support():
    brokers = [
        Broker(broker_id=1, features={"group.version": (0, 0)}),
        Broker(broker_id=2),
        Broker(broker_id=3, features={"group.version": (2, 3)}),
    ]
    found = blockers(Need(feature="group.version", level=1), brokers=brokers, records=[registered(3001)])
    assert [blocker.sentence for blocker in found.found] == [
        "Broker 1 does not support this feature.",
        "Broker 3 only supports versions 2-3",
        "Controller 3001 does not support this feature.",
    ]
    assert found.text.startswith("Broker 1 does not support this feature: run it as a release that supports group.")
    assert found.found[1].reported().fields["supported"] == [2, 3]


def test_a_level_that_nobody_supports_is_told_of_this_controller_alone():
    found = blockers(Need(feature="group.version", level=7), brokers=[1, 2])
    assert found.text == "Local controller 3000 only supports versions 0-1"
    assert len(found.found) == 3


def test_level_0_is_what_those_have_who_do_not_know_a_feature():
    brokers = [Broker(broker_id=1, features={"group.version": (1, 1)})]
    assert ids(blockers(Need(feature="group.version", level=0), brokers=brokers)) == []
    assert ids(blockers(Need(feature=METADATA_VERSION, level=0))) == [("controller", CONTROLLER_ID, "unsupported")]


def test_a_ghost_is_named_with_how_long_it_is_gone_and_the_way_out():
    ghost = Broker(broker_id=5, fenced=True, features={"group.version": (0, 0)})
    need = Need(feature="group.version", level=1)
    heard = replace(CONTEXT, last_contact_ms={5: NOW_MS - 90_061_000})
    (found,) = blockers(need, brokers=[ghost], context=heard).found
    assert found.text == (
        "Broker 5 does not support this feature (fenced, not heard of for 1 d 1 h): run it as a release that supports "
        "group.version 1, or take it out with kafka-cluster unregister --id 5."
    )
    assert found.reported().fields["silent_ms"] == 90_061_000
    unheard = replace(CONTEXT, active_since_ms=NOW_MS - 60_000)
    (found,) = blockers(need, brokers=[ghost], context=unheard).found
    assert "not heard of for at least 1 min)" in found.text


def test_to_raise_a_level_a_majority_of_the_voters_must_be_known_to_support_it():
    need = Need(feature="group.version", level=1)
    others = [registered(3001, group_version=(0, 1)), registered(3002, group_version=(0, 1))]
    voters = [CONTROLLER_ID, 3001, 3002]
    assert ids(blockers(need, voters=voters, records=others)) == []
    assert ids(blockers(need, voters=voters, records=others[:1])) == []
    assert ids(blockers(need, voters=voters)) == [
        ("controller", 3001, "unregistered"),
        ("controller", 3002, "unregistered"),
    ]
    # One that is known to be incapable is in the way, whoever else can.
    incapable = registered(3002, group_version=(0, 0))
    assert ids(blockers(need, voters=voters, records=[others[0], incapable])) == [("controller", 3002, "unsupported")]


def test_a_stopped_voter_that_does_not_support_a_raised_level_is_left_behind_by_a_majority_that_does():
    need = Need(feature="metadata.version", level=33)
    others = [registered(3001, metadata_version=(7, 33)), registered(3002, metadata_version=(7, 21))]
    voters = [CONTROLLER_ID, 3001, 3002]
    stopped = replace(CONTEXT, silent_voters=frozenset({3002}))
    found = blockers(need, voters=voters, records=others, context=stopped)
    assert ids(found) == []
    (voter,) = found.left_behind
    assert voter.left_behind().detail == (
        "controller 3002 is stopped and only supports versions 7-21: it ends when it comes back, until it runs as a "
        "release that supports metadata.version 33"
    )
    assert ids(blockers(need, voters=voters, records=others)) == [("controller", 3002, "unsupported")]
    # Without a majority that is known to support it, and where a level is lowered, it is in the way.
    assert ids(blockers(need, voters=voters, records=others[1:], context=stopped)) == [
        ("controller", 3002, "unsupported"),
        ("controller", 3001, "unregistered"),
    ]
    lowered = replace(need, level=22, is_lowered=True)
    assert ids(blockers(lowered, voters=voters, records=others, context=stopped)) == [
        ("controller", 3002, "unsupported")
    ]


def test_to_lower_a_level_all_voters_must_be_known():
    voters = [CONTROLLER_ID, 3001, 3002]
    need = Need(feature="group.version", level=0, is_lowered=True)
    found = blockers(need, voters=voters, records=[registered(3001)])
    assert ids(found) == [("controller", 3002, "unregistered")]
    assert found.text.startswith("controller 3002 has not registered, and may not support this feature: ")


def test_below_3_7_nobody_knows_what_controllers_support():
    need = Need(feature=METADATA_VERSION, level=19)
    assert ids(blockers(need, voters=[CONTROLLER_ID, 3001, 3002], release="3.9", metadata_version="3.6-IV2")) == []


def test_whoever_does_not_follow_a_lowering_is_named():
    brokers = [Broker(broker_id=1, features=FOLLOWS), Broker(broker_id=2)]
    others = [registered(3001, metadata_version=(7, 33), falkirk_downgrade=(0, 1))]
    others.append(registered(3002, metadata_version=(7, 33)))
    voters = [CONTROLLER_ID, 3001, 3002]
    context = replace(CONTEXT, lowering_support={3001: True, 3002: False})
    found = blockers(LOWER, voters=voters, brokers=brokers, records=others, context=context)
    assert ids(found) == [("broker", 2, "cannot-lower"), ("controller", 3002, "cannot-lower")]
    assert "Broker 2 does not support lowering metadata.version: run it with falkirk.downgrade 1, or" in found.text
    assert ids(blockers(LOWER, follows=False)) == [("controller", CONTROLLER_ID, "cannot-lower")]


def test_servers_of_kafka_may_take_the_forced_snapshot_if_voters_that_follow_can_commit():
    allowed = replace(LOWER, allows_forced_snapshot=True)
    follower = registered(3001, metadata_version=(7, 33), falkirk_downgrade=(0, 1))
    own = registered(CONTROLLER_ID, metadata_version=(7, 33), falkirk_downgrade=(0, 1))
    kafka = registered(3002, metadata_version=(7, 33))
    voters = [CONTROLLER_ID, 3001, 3002]
    context = replace(CONTEXT, lowering_support={3001: True, 3002: False})
    assert ids(blockers(allowed, voters=voters, brokers=[1], records=[own, follower, kafka], context=context)) == []


@pytest.mark.parametrize(("controllers", "is_possible"), [(2, True), (3, True), (4, True), (5, False)])
def test_one_voter_that_follows_commits_by_the_snapshot_where_it_and_another_block_every_majority(
    controllers, is_possible
):
    others = range(3001, 3000 + controllers)
    records = [registered(each, metadata_version=(7, 33)) for each in others]
    context = replace(CONTEXT, lowering_support=dict.fromkeys(others, False))
    voters = [CONTROLLER_ID, *others]
    allowed = replace(LOWER, allows_forced_snapshot=True)
    found = ids(blockers(allowed, voters=voters, brokers=[1], records=records, context=context))
    refused = [("controller", node_id, "cannot-lower") for node_id in others]
    assert found == ([] if is_possible else refused)
    without_consent = ids(blockers(LOWER, voters=voters, records=records, context=context))
    assert without_consent == refused


@pytest.mark.parametrize("support", [{3001: False, 3002: True}, {3002: False}])
def test_a_voter_counts_by_its_fetches_whoever_registered_under_its_id(support):
    """A real Kafka node that takes the place of a falkirk one has not registered yet; a stopped one fetches nothing."""
    followers = [registered(each, metadata_version=(7, 33), falkirk_downgrade=(0, 1)) for each in (3001, 3002)]
    context = replace(CONTEXT, lowering_support=support)
    found = blockers(LOWER, voters=[CONTROLLER_ID, 3001, 3002], records=followers, context=context)
    kafka = [node_id for node_id in (3001, 3002) if not support.get(node_id)]
    assert ids(found) == [("controller", node_id, "cannot-lower") for node_id in kafka]


def test_a_voter_that_is_down_is_not_in_the_way_of_a_majority_that_follows():
    followers = [registered(each, metadata_version=(7, 33), falkirk_downgrade=(0, 1)) for each in (3001, 3002)]
    context = replace(CONTEXT, lowering_support={3001: True})
    assert ids(blockers(LOWER, voters=[CONTROLLER_ID, 3001, 3002], records=followers, context=context)) == []


def test_consent_helps_no_broker_that_cannot_run_the_level():
    old = Broker(broker_id=1, features={METADATA_VERSION: (22, 33)})
    found = blockers(replace(LOWER, allows_forced_snapshot=True), brokers=[old])
    assert ids(found) == [("broker", 1, "unsupported")]


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (999, "less than a second"),
        (9_000, "9 s"),
        (60_000, "1 min"),
        (61_000, "1 min 1 s"),
        (3_605_000, "1 h"),
        (100_000_000, "1 d 3 h"),
    ],
)
def test_a_duration_is_told_in_its_largest_units(duration_ms, text):
    assert duration_text(duration_ms) == text
