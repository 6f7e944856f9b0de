"""One member's steps towards its target."""

from typing import Any

import pytest

from falkirk.coordinator.consumer.member import ConsumerGroupMember, MemberState
from falkirk.coordinator.consumer.reconciliation import Reconciliation, owned_partitions
from falkirk.protocol.messages.consumer_group_heartbeat_request import TopicPartitions

T, U = b"t" * 16, b"u" * 16
STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)


def _member(**has: Any) -> ConsumerGroupMember:  # Any: whatever a member has
    return ConsumerGroupMember(member_id="m", **{"member_epoch": 5, "previous_member_epoch": 4, **has})


def _next(
    member: ConsumerGroupMember,
    target: dict[bytes, frozenset[int]],
    *,
    owned: dict[bytes, frozenset[int]] | None = None,
    others: frozenset[tuple[bytes, int]] = frozenset(),
    reads: frozenset[bytes] = frozenset({T, U}),
    has_subscription_changed: bool = False,
) -> ConsumerGroupMember | None:
    mine = {(topic, at) for has in (member.assigned, member.revoking) for topic in has for at in has[topic]}
    return Reconciliation(
        target_epoch=6,
        target=target,
        subscribed_topic_ids=reads,
        has_subscription_changed=has_subscription_changed,
        owner_of=lambda topic, at: "other" if (topic, at) in others else "m" if (topic, at) in mine else None,
        owned=owned,
    ).next_of(member)


def _epochs(*partitions: int, since: int = 5) -> dict[bytes, dict[int, int]]:
    return {T: dict.fromkeys(partitions, since)}


def test_a_member_without_partitions_gets_what_is_free():
    after = _next(_member(), {T: frozenset({0, 1})})

    assert after == _member(member_epoch=6, previous_member_epoch=5, assigned=_epochs(0, 1, since=6))


def test_what_others_have_comes_later():
    target = {T: frozenset({0, 1})}
    after = _next(_member(), target, others=frozenset({(T, 1)}))
    assert after == _member(member_epoch=6, previous_member_epoch=5, state=UNRELEASED, assigned=_epochs(0, since=6))
    assert after is not None

    still = _next(after, target, others=frozenset({(T, 1)}))
    assert still is not None
    assert (still.state, still.assigned) == (UNRELEASED, after.assigned)
    last = _next(after, target)
    assert last is not None
    assert (last.state, last.assigned) == (STABLE, _epochs(0, 1, since=6))


def test_what_is_not_in_the_target_is_given_back_first():
    before = _member(assigned=_epochs(0, 1))

    told = _next(before, {T: frozenset({1, 2})}, owned={T: frozenset({0, 1})})

    assert told == _member(previous_member_epoch=5, state=UNREVOKED, assigned=_epochs(1), revoking=_epochs(0))


@pytest.mark.parametrize("owned", [None, {T: frozenset({0, 1})}])
def test_a_member_waits_as_long_as_it_does_not_say_that_it_gave_back(owned: dict[bytes, frozenset[int]] | None):
    before = _member(state=UNREVOKED, assigned=_epochs(1), revoking=_epochs(0))

    assert _next(before, {T: frozenset({1, 2})}, owned=owned) is before


def test_a_member_that_gave_back_comes_to_the_target():
    before = _member(state=UNREVOKED, assigned=_epochs(1), revoking=_epochs(0))

    after = _next(before, {T: frozenset({1, 2})}, owned={T: frozenset({1})})

    assert after == _member(member_epoch=6, previous_member_epoch=5, assigned={T: {1: 5, 2: 6}})


def test_what_was_given_back_may_be_had_again():
    before = _member(state=UNREVOKED, assigned=_epochs(1), revoking=_epochs(0))

    after = _next(before, {T: frozenset({0, 1})}, owned={T: frozenset({1})})

    assert after is not None
    assert (after.state, after.assigned) == (STABLE, {T: {0: 6, 1: 5}})


def test_who_never_heard_of_a_partition_needs_not_give_it_back():
    before = _member(assigned=_epochs(0, 1))

    after = _next(before, {T: frozenset({1})}, owned={})

    assert after == _member(member_epoch=6, previous_member_epoch=5, assigned=_epochs(1))


def test_a_target_that_was_reached_changes_nothing():
    before = _member(member_epoch=6, assigned=_epochs(0))

    assert _next(before, {T: frozenset({0})}) is before


def test_what_is_not_read_any_more_goes_at_once():
    before = _member(member_epoch=6, assigned={T: {0: 5}, U: {0: 5}})

    told = _next(before, {}, reads=frozenset({T}), has_subscription_changed=True)
    given_back = _next(before, {}, reads=frozenset({T}), has_subscription_changed=True, owned={T: frozenset({0})})

    assert told == _member(
        member_epoch=6, previous_member_epoch=6, state=UNREVOKED, assigned=_epochs(0), revoking={U: {0: 5}}
    )
    assert given_back == _member(member_epoch=6, previous_member_epoch=6, assigned=_epochs(0))


def test_what_is_not_read_any_more_joins_what_is_being_given_back():
    before = _member(state=UNREVOKED, assigned={T: {1: 5}, U: {0: 5}}, revoking=_epochs(0))

    after = _next(before, {T: frozenset({1})}, reads=frozenset({T}), has_subscription_changed=True)
    same = _next(before, {T: frozenset({1})}, has_subscription_changed=True)

    assert after is not None
    assert (after.assigned, after.revoking) == (_epochs(1), {T: {0: 5}, U: {0: 5}})
    assert same is before


def test_a_target_that_was_made_for_another_subscription_gives_nothing_that_is_not_read():
    after = _next(_member(), {T: frozenset({0}), U: frozenset({0})}, reads=frozenset({T}))

    assert after is not None
    assert (after.state, after.assigned) == (STABLE, _epochs(0, since=6))


@pytest.mark.parametrize("owned", [None, {T: frozenset({0})}])
def test_a_member_in_an_unknown_state_is_fenced(owned: dict[bytes, frozenset[int]] | None):
    assert _next(_member(state=MemberState.UNKNOWN, assigned=_epochs(0)), {T: frozenset({0})}, owned=owned) is None


def test_a_member_in_an_unknown_state_goes_on_if_it_has_nothing():
    after = _next(_member(state=MemberState.UNKNOWN, assigned=_epochs(0)), {T: frozenset({0})}, owned={})

    assert after == _member(member_epoch=6, previous_member_epoch=5, assigned=_epochs(0))


def test_a_topic_that_is_named_twice_is_owned_together():
    topics = [TopicPartitions(topic_id=T, partitions=(0,)), TopicPartitions(topic_id=T, partitions=(1,))]

    assert owned_partitions(topics) == {T: frozenset({0, 1})}
    assert owned_partitions(None) is None
