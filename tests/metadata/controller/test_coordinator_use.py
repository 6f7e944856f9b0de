"""What coordinators have in use, and which features would cut it off."""

import pytest
from controllers import CONTROLLER_ID
from feature_updates import SAFE, UNSAFE, a_controller, decide

from falkirk.metadata.controller.coordinator_use import (
    CoordinatorUse,
    GroupInUse,
    OpenTransaction,
    topic_to_survey,
)
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import TopicRecord

GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
USE = CoordinatorUse(
    transactions=(OpenTransaction("paying", "ONGOING", 7, 12),),
    groups=(
        GroupInUse("shares", "share", 0, 3),
        GroupInUse("flows", "streams", 2, 4),
        GroupInUse("modern", "consumer", 2, 5),
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
    ("name", "level", "topic"),
    [
        ("transaction.version", 1, TRANSACTIONS),
        ("transaction.version", 0, TRANSACTIONS),
        ("group.version", 0, GROUPS),
        ("share.version", 0, GROUPS),
        ("share.version", 1, None),
        ("streams.version", 0, GROUPS),
        ("eligible.leader.replicas.version", 0, None),
        ("metadata.version", 17, None),
    ],
)
def test_each_feature_has_its_topic(name, level, topic):
    assert topic_to_survey(name, level) == topic


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


def test_safe_goes_on_where_nothing_is_in_use():
    for name in ("transaction.version", "share.version", "streams.version", "group.version"):
        assert lowered(name, 0, SAFE, CoordinatorUse()).errors == {}


def test_what_cannot_be_read_stops_safe_alone():
    use = CoordinatorUse(unread=("__transaction_state-4: it has no leader",))
    refused = lowered("transaction.version", 0, SAFE, use)
    assert refused.errors["transaction.version"].error_code == ErrorCode.FEATURE_UPDATE_FAILED
    assert "__transaction_state-4: it has no leader" in refused.errors["transaction.version"].message
    assert lowered("transaction.version", 0, UNSAFE, use).errors == {}
    # Of a topic that does not matter nothing need be known.
    assert lowered("share.version", 0, SAFE, use).errors == {}
