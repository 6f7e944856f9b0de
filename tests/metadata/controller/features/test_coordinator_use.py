"""What coordinators have in use, and which features would cut it off."""

from dataclasses import replace

import pytest
from controllers import CONTROLLER_ID
from feature_updates import SAFE, TOGETHER, UNSAFE, UPGRADE, a_controller, decide

from falkirk.ledger.open_transaction import OpenTransaction
from falkirk.metadata.controller.features.coordinator_use import (
    CoordinatorUse,
    GroupInUse,
    UnreadPartition,
    topics_to_survey,
)
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import CONSUMER_GROUP
from falkirk.protocol.messages import TopicRecord

GROUPS, TRANSACTIONS, STATES = "__consumer_offsets", "__transaction_state", "__share_group_state"
PAYING = OpenTransaction(
    transactional_id="paying",
    state="ongoing",
    partition=7,
    offset=12,
    producer_id=1000,
    producer_epoch=3,
    partitions=("t-0", "t-1"),
    start_timestamp_ms=1_700_000_000_000,
)
USE = CoordinatorUse(
    transactions=(PAYING,),
    groups=(
        GroupInUse("shares", "share", 0, 3, share_partitions=4),
        GroupInUse("flows", "streams", 2, 4),
        GroupInUse("modern", "consumer", 2, 5, ("m-1", "m-2"), 7),
        GroupInUse("left", "consumer", 0, 5),
        GroupInUse("old", "classic", 3, 6),
    ),
)


def lowered(name, level, type_, use, *, topics=(GROUPS, TRANSACTIONS)):
    """Decide on lowering a feature from its highest level."""
    highest = {"transaction.version": 2, "share.version": 2}.get(name, 1)
    records = [TopicRecord(topic, topic.encode()[:16].ljust(16)) for topic in topics]
    controller = a_controller(features={name: highest}, records=records)
    return decide(controller, (name, level, type_), voters=[CONTROLLER_ID], use=use)


@pytest.mark.parametrize(
    ("name", "level", "topics"),
    [
        ("transaction.version", 1, (TRANSACTIONS,)),
        ("transaction.version", 0, (TRANSACTIONS,)),
        ("group.version", 0, (GROUPS,)),
        ("share.version", 0, (GROUPS, STATES)),
        ("share.version", 1, ()),
        ("streams.version", 0, (GROUPS,)),
        ("eligible.leader.replicas.version", 0, ()),
        ("metadata.version", 17, ()),
    ],
)
def test_each_feature_has_its_topics(name, level, topics):
    assert topics_to_survey(name, level) == topics


def test_nothing_is_decided_before_somebody_has_looked():
    decision = lowered("transaction.version", 0, SAFE, None)
    assert decision.needs_survey
    assert decision.topics_to_survey == {TRANSACTIONS}
    assert not lowered("share.version", 1, SAFE, None).needs_survey


def test_a_topic_that_is_not_there_has_nothing_in_it():
    decision = lowered("transaction.version", 0, SAFE, None, topics=())
    assert not decision.needs_survey
    assert decision.errors == {}


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("transaction.version", "transactional id paying"),
        ("share.version", "group shares"),
        ("streams.version", "group flows"),
        # One without members is free for classic ones.
        ("group.version", "group modern"),
    ],
)
def test_safe_refuses_with_the_names_and_unsafe_tells_them(name, key):
    refused = lowered(name, 0, SAFE, USE)
    assert refused.errors[name].error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert key in refused.errors[name].message
    assert refused.result().records == ()
    done = lowered(name, 0, UNSAFE, USE)
    assert done.errors == {}
    for decision in (refused, done):
        assert [item["key"] for item in decision.details.losses] == [key]
    assert len(done.result().records) == 1


def test_a_consumer_group_is_named_with_its_members_and_what_becomes_of_it():
    (item,) = USE.cut_off("group.version")
    assert item.kind == CONSUMER_GROUP
    assert item.detail == (
        "group modern is a consumer group with 2 members (m-1, m-2) that must join again by the classic protocol "
        "(its 7 committed offsets stay)"
    )
    assert item.before == {
        "members": 2,
        "member_ids": ["m-1", "m-2"],
        "committed_offsets": 7,
        "share_partitions": 0,
    }
    assert item.after == {"members": 0, "committed_offsets": 7}


def test_a_share_group_is_named_with_the_delivery_state_that_is_lost():
    (item,) = USE.cut_off("share.version")
    assert item.detail == "group shares is a share group with 0 members and delivery state of 4 partitions"
    assert item.before["share_partitions"] == 4
    unread = CoordinatorUse(unread=(UnreadPartition(STATES, 4, "it has no leader"),))
    topics = (GROUPS, STATES)
    assert lowered("share.version", 0, SAFE, None, topics=topics).topics_to_survey == set(topics)
    assert (
        "__share_group_state-4"
        in lowered("share.version", 0, SAFE, unread, topics=topics).errors["share.version"].message
    )
    assert lowered("group.version", 0, SAFE, unread, topics=topics).errors == {}


def test_of_many_members_the_first_are_named_and_the_rest_is_counted():
    members = tuple(f"member-{number:04}" for number in range(500))
    (item,) = CoordinatorUse(groups=(GroupInUse("big", "consumer", 500, 0, members),)).cut_off("group.version")
    assert "500 members (member-0000, " in item.detail
    assert "member-0009, and 490 more)" in item.detail
    assert len(item.before["member_ids"]) == 10


def test_group_version_is_raised_without_a_look_at_any_group():
    controller = a_controller(records=[TopicRecord(GROUPS, GROUPS.encode()[:16])])
    decision = decide(controller, ("group.version", 1, UPGRADE))
    assert not decision.needs_survey
    assert [record.record.feature_level for record in decision.result().records] == [1]


def test_members_of_a_group_that_metadata_version_takes_along_stop_both():
    """downgrade-all asks for both in one update; below 4.0-IV0 there is no place for group.version."""
    updates = [(("metadata.version", 21, type_), ("group.version", 0, type_)) for type_ in (SAFE, UNSAFE)]
    records = [TopicRecord(GROUPS, GROUPS.encode()[:16])]
    controller = a_controller(features={"group.version": 1}, records=records)
    unlooked, refused, done = (
        decide(controller, *pair, use=use) for pair, use in ((updates[0], None), (updates[0], USE), (updates[1], USE))
    )
    assert unlooked.needs_survey
    assert list(refused.errors) == ["group.version"]
    assert refused.result().response.error_message.startswith(f"{TOGETHER}Invalid update version 0 for feature group")
    assert "m-1, m-2" in refused.result().response.error_message
    assert refused.result().records == ()
    assert [(record.name, record.feature_level) for record, _ in done.result().records] == [
        ("group.version", 0),
        ("metadata.version", 21),
    ]
    alone = decide(controller, ("metadata.version", 21, SAFE), use=USE)
    assert "group.version 1" in alone.errors["metadata.version"].message


def test_safe_goes_on_where_nothing_is_in_use():
    for name in ("transaction.version", "share.version", "streams.version", "group.version"):
        assert lowered(name, 0, SAFE, CoordinatorUse()).errors == {}


def test_what_cannot_be_read_stops_safe_alone():
    use = CoordinatorUse(unread=(UnreadPartition(TRANSACTIONS, 4, "it has no leader"),))
    refused = lowered("transaction.version", 0, SAFE, use)
    assert refused.errors["transaction.version"].error_code == ErrorCode.FEATURE_UPDATE_FAILED
    assert "__transaction_state-4: it has no leader" in refused.errors["transaction.version"].message
    assert lowered("transaction.version", 0, UNSAFE, use).errors == {}
    # Of a topic that does not matter nothing need be known.
    assert lowered("share.version", 0, SAFE, use).errors == {}


@pytest.mark.parametrize(
    ("started_ms", "since"),
    [
        (253_402_300_799_000, " since 9999-12-31T23:59:59+00:00 in t-0, t-1"),
        (253_402_300_800_000, "with epoch 3 in t-0, t-1"),
        (2**63 - 1, "with epoch 3 in t-0, t-1"),
    ],
)
def test_a_transaction_that_began_beyond_the_calendar_has_no_date(started_ms, since):
    use = CoordinatorUse(transactions=(replace(PAYING, start_timestamp_ms=started_ms),))
    (loss,) = use.cut_off("transaction.version")
    assert loss.detail.endswith(since)
