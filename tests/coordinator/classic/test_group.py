"""What every group is asked: who may commit, what may be deleted, which offsets expire."""

from unittest.mock import patch

import pytest
from classic_world import GROUP, ClassicWorld, subscription

from falkirk.coordinator.classic.group import ClassicGroup, group_metadata_tombstone
from falkirk.coordinator.records.record_type import GroupType
from falkirk.protocol import codec
from falkirk.protocol.error_codes import ErrorCode


def why_refused(
    group: ClassicGroup,
    member_id: str = "",
    generation: int = -1,
    *,
    instance: str | None = None,
    is_transactional: bool = False,
) -> ErrorCode:
    """Ask whether a commit is refused."""
    return group.commit_error(member_id, instance, generation, is_transactional=is_transactional, version=9)


def test_whoever_is_no_member_commits_to_an_empty_group_alone():
    world = ClassicWorld()
    empty = ClassicGroup("offsets", now_ms=1)
    world.stable(1)

    assert why_refused(empty) is ErrorCode.NONE
    assert why_refused(empty, "someone", instance="someone") is ErrorCode.NONE
    assert why_refused(empty, "someone", 0) is ErrorCode.UNKNOWN_MEMBER_ID
    assert why_refused(world.group()) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_commits_in_its_generation():
    world = ClassicWorld()
    ids = world.stable(2, static=True)
    group = world.group()

    assert why_refused(group, ids[0], 1) is ErrorCode.NONE
    assert why_refused(group, ids[0], 1, instance="i0") is ErrorCode.NONE
    assert why_refused(group, ids[0], 0) is ErrorCode.ILLEGAL_GENERATION
    assert why_refused(group, ids[0], -1) is ErrorCode.ILLEGAL_GENERATION
    assert why_refused(group, "someone", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert why_refused(group, "", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert why_refused(group, ids[0], 1, instance="i1") is ErrorCode.FENCED_INSTANCE_ID
    assert why_refused(group, ids[0], 1, instance="i2") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_commits_while_others_join_again_but_not_before_it_has_its_assignment():
    world = ClassicWorld()
    ids = world.stable(2)
    world.join(ids[0])

    assert why_refused(world.group(), ids[1], 1) is ErrorCode.NONE
    world.join(ids[1])
    assert why_refused(world.group(), ids[1], 2) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_transaction_commits_without_a_member_and_whatever_the_state():
    world = ClassicWorld()
    ids = world.members(1)

    assert why_refused(world.group(), is_transactional=True) is ErrorCode.NONE
    assert why_refused(world.group(), ids[0], 1, is_transactional=True) is ErrorCode.NONE
    assert why_refused(world.group(), ids[0], 0, is_transactional=True) is ErrorCode.ILLEGAL_GENERATION
    assert why_refused(world.group(), "someone", 1, is_transactional=True) is ErrorCode.UNKNOWN_MEMBER_ID


def test_anyone_fetches_offsets():
    world = ClassicWorld()
    world.stable(1)

    assert world.group().fetch_error(None, -1) is ErrorCode.NONE
    assert world.group().fetch_error("someone", 9) is ErrorCode.NONE


def test_a_group_with_members_is_not_deleted():
    world = ClassicWorld()
    ids = world.stable(1)

    assert world.group().deletion_error() is ErrorCode.NON_EMPTY_GROUP
    world.leave(*ids)
    assert world.group().deletion_error() is ErrorCode.NONE
    assert list(world.group().deletion_records()) == [group_metadata_tombstone(GROUP)]


def test_a_group_is_simple_until_somebody_asks_to_join_it():
    world = ClassicWorld()
    simple = ClassicGroup("offsets", now_ms=1)
    assert simple.is_simple
    assert simple.type is GroupType.CLASSIC

    member_id = world.joined(world.join()).member_id
    assert not world.group().is_simple
    world.leave(member_id)
    assert world.group().is_simple
    world.leave(*world.members(1))
    world.pass_time(10_000)
    assert world.group().is_empty
    assert not world.group().is_simple


@pytest.mark.parametrize("version", range(4))
def test_consumers_read_what_their_subscriptions_name_in_any_version(version: int):
    world = ClassicWorld()
    newer = bytes([0, version]) + subscription("t", "u")[2:] + b"\0\0\0\0" * version
    world.join(version=9, instance="a", protocols={"range": newer})
    world.join(version=9, instance="b", protocols={"range": subscription("v")})

    assert world.group().is_subscribed_to("anything")
    world.pass_time(6_000)

    assert [topic for topic in "tuvw" if world.group().is_subscribed_to(topic)] == ["t", "u", "v"]


def test_of_consumers_whose_subscriptions_cannot_be_read_any_may_read_any_topic():
    world = ClassicWorld()
    world.stable(1, static=True)
    world.join(instance="b", protocols={"range": b"?"})
    world.join(world.group().leader_id, instance="i0")

    assert world.group().state_name == "CompletingRebalance"
    assert world.group().subscribed_topics is None
    assert world.group().is_subscribed_to("anything")


def test_members_of_another_protocol_type_read_nothing():
    world = ClassicWorld()
    world.join(version=0, protocol_type="connect", protocols={"default": b"?"})
    world.pass_time(3_000)

    assert not world.group().is_subscribed_to("anything")
    assert world.group().offsets_expire_since("anything", 5) is None


def test_offsets_of_consumers_expire_for_topics_that_none_reads_while_the_group_is_stable():
    world = ClassicWorld()
    ids = world.stable(2)
    group = world.group()

    assert group.offsets_expire_since("t", 5) is None
    assert group.offsets_expire_since("other", 5) == 5
    world.join(ids[0])
    assert group.offsets_expire_since("other", 5) is None


def test_offsets_of_an_empty_group_expire_from_when_it_became_empty():
    world = ClassicWorld()
    ids = world.stable(1)
    world.pass_time(500)
    world.leave(*ids)
    became_empty_ms = world.context.now_ms
    world.pass_time(500)

    assert world.group().offsets_expire_since("t", 5) == became_empty_ms
    world.reload()
    assert world.group().offsets_expire_since("t", 5) == became_empty_ms


def test_offsets_of_an_empty_group_that_does_not_know_when_it_became_so_expire_from_their_commit():
    group = ClassicGroup("old", now_ms=None, protocol_type="consumer")

    group.find_subscribed_topics()

    assert group.offsets_expire_since("t", 5) == 5


def test_offsets_without_members_expire_from_their_commit():
    assert ClassicGroup("offsets", now_ms=1).offsets_expire_since("t", 5) == 5


def test_of_protocols_with_equally_many_votes_the_first_in_javas_hash_map_wins():
    world = ClassicWorld()
    world.join(version=9, instance="a", protocols={"roundrobin": b"", "range": b""})
    world.join(version=9, instance="b", protocols={"range": b"", "roundrobin": b""})

    world.pass_time(6_000)

    assert world.group().protocol_name == "range"


@pytest.mark.source
def test_a_subscription_that_many_members_share_is_read_once():
    world = ClassicWorld(group_max_size=250)
    topics = tuple(f"topic-{number}" for number in range(1_000))
    shared, other = {"range": subscription(*topics)}, {"range": subscription("other")}
    for number in range(250):
        world.join(version=3, protocols=other if number == 0 else shared)

    with patch("falkirk.coordinator.classic.group.codec.decode_prefix", wraps=codec.decode_prefix) as decode_prefix:
        world.pass_time(2 * world.settings.group_initial_rebalance_delay_ms)

    assert world.group().subscribed_topics == {*topics, "other"}
    assert decode_prefix.call_count == 2


@pytest.mark.source
def test_topics_that_members_share_are_read_once_though_their_user_data_differ():
    world = ClassicWorld()
    for number in range(20):
        shared = subscription("t", "u")[: -len(b"\xff\xff\xff\xff")] + b"\0\0\0\2%02d" % number
        world.join(version=3, protocols={"range": shared})

    with patch("falkirk.coordinator.classic.group.codec.decode_prefix", wraps=codec.decode_prefix) as decode_prefix:
        world.pass_time(2 * world.settings.group_initial_rebalance_delay_ms)

    assert world.group().subscribed_topics == {"t", "u"}
    assert decode_prefix.call_count == 1


@pytest.mark.parametrize("broken", [b"\0\0\0\3ab", b"\xff\xff\xff\xfe", b""])
def test_user_data_behind_shared_topics_are_checked(broken: bytes):
    world = ClassicWorld()
    whole = subscription("t")
    for metadata in (whole, whole[: -len(b"\xff\xff\xff\xff")] + broken):
        world.join(version=3, protocols={"range": metadata})
    world.pass_time(2 * world.settings.group_initial_rebalance_delay_ms)
    assert world.group().subscribed_topics is None


def test_of_more_differing_topics_than_a_step_can_read_any_may_be_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("falkirk.coordinator.classic.group.SUBSCRIBED_TOPICS_MAX", 6)
    for topics, known in ((["tuv", "wxy"], set("tuvwxy")), (["tuv", "wxyz"], None), (["tuvw", "tuvw"], set("tuvw"))):
        world = ClassicWorld()
        for each in topics:
            world.join(version=3, protocols={"range": subscription(*each)})
        world.pass_time(2 * world.settings.group_initial_rebalance_delay_ms)
        assert world.group().subscribed_topics == known
