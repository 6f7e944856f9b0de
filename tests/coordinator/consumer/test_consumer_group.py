"""What a consumer group answers to offsets, lists, and those who join."""

import pytest
from consumer_world import Consumer, ConsumerWorld
from msgspec.structs import replace

from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.member import ConsumerGroupMember, MemberState
from falkirk.coordinator.records.record_type import GroupType
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.consumer_group_member_metadata_value import ClassicMemberMetadata, ClassicProtocol

T = b"t" * 16


def _group(**members: ConsumerGroupMember) -> ConsumerGroup:
    group = ConsumerGroup("g", first_epoch=0)
    for member in members.values():
        group.update_member(replace(member, has_metadata=True))
    return group


def _classic(member_id: str, *protocols: str, epoch: int = 5) -> ConsumerGroupMember:
    metadata = ClassicMemberMetadata(
        session_timeout_ms=1, supported_protocols=[ClassicProtocol(name=name) for name in protocols]
    )
    return ConsumerGroupMember(member_id=member_id, member_epoch=epoch, classic_metadata=metadata)


MODERN = ConsumerGroupMember(member_id="m", member_epoch=5)


def _commit(
    group: ConsumerGroup, member_id: str, epoch: int, *, version: int = 9, is_transactional: bool = False
) -> ErrorCode:
    return group.commit_error(member_id, None, epoch, is_transactional=is_transactional, version=version)


def test_a_member_commits_at_its_epoch():
    group = _group(m=MODERN, c=_classic("c", "range"))

    assert _commit(group, "m", 5) == _commit(group, "c", 5, version=2) == ErrorCode.NONE
    assert _commit(group, "m", 4) == _commit(group, "m", 6) == ErrorCode.STALE_MEMBER_EPOCH
    assert _commit(group, "c", 4) == ErrorCode.ILLEGAL_GENERATION
    assert _commit(group, "x", 5) == _commit(group, "", -1, version=2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert group.type is GroupType.CONSUMER
    assert group.protocol_type == "consumer"


def test_epochs_are_understood_from_version_9_of_offset_commits_on():
    group = _group(m=MODERN)

    assert _commit(group, "m", 5, version=8) == ErrorCode.UNSUPPORTED_VERSION
    assert _commit(group, "m", 5, version=3, is_transactional=True) == ErrorCode.NONE


def test_a_group_without_members_takes_offsets_of_nobody():
    group = _group()

    assert _commit(group, "", -1) == _commit(group, "x", -1) == ErrorCode.NONE
    assert _commit(group, "x", 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_producer_that_names_no_member_commits_in_its_transaction():
    assert _commit(_group(m=MODERN), "", -1, is_transactional=True) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("epoch", "partition", "refused"),
    [
        (4, 0, ErrorCode.NONE),
        (3, 0, ErrorCode.NONE),
        (2, 0, ErrorCode.STALE_MEMBER_EPOCH),
        (4, 1, ErrorCode.NONE),
        (3, 1, ErrorCode.STALE_MEMBER_EPOCH),
        (4, 2, ErrorCode.STALE_MEMBER_EPOCH),
        (5, 2, ErrorCode.NONE),
        (6, 0, ErrorCode.STALE_MEMBER_EPOCH),
    ],
)
def test_an_epoch_that_is_past_will_do_for_what_was_had_by_then(epoch: int, partition: int, refused: ErrorCode):
    group = _group(m=replace(MODERN, assigned={T: {0: 3}}, revoking={T: {1: 4}}))

    assert group.partition_commit_error("m", epoch, T, partition) == refused


def test_a_member_fetches_at_its_epoch_and_who_names_none_at_any_time():
    group = _group(m=MODERN, c=_classic("c", "range"))

    assert group.fetch_error(None, -1) == group.fetch_error("m", 5) == ErrorCode.NONE
    assert group.fetch_error("m", 4) == ErrorCode.STALE_MEMBER_EPOCH
    assert group.fetch_error("c", 4) == ErrorCode.ILLEGAL_GENERATION
    assert group.fetch_error("x", 5) == group.fetch_error(None, 5) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_with_members_is_not_deleted():
    assert _group(m=MODERN).deletion_error() == ErrorCode.NON_EMPTY_GROUP
    assert _group().deletion_error() == ErrorCode.NONE


def test_offsets_expire_from_their_commit_once_nobody_reads_the_topic():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", "foo", regex="b.*")
    consumer.beat()

    assert world.group.offsets_expire_since("foo", 7) is None
    assert world.group.offsets_expire_since("bar", 7) is None
    assert world.group.offsets_expire_since("other", 7) == 7
    consumer.leave()
    assert world.group.offsets_expire_since("foo", 7) == 7


def test_what_deletes_a_group_leaves_nothing_of_it():
    world = ConsumerWorld()
    first, second = Consumer(world, "a", "foo", instance="i", regex="b.*"), Consumer(world, "b", "foo")
    for _ in range(3):
        first.beat()
        second.beat()

    for record in world.group.deletion_records():
        world.protocol.replay(record.key, record.value)

    assert world.context.groups == {}


def test_a_member_of_the_classic_protocol_needs_an_assignor_that_all_of_them_have():
    group = _group(m=MODERN, c=_classic("c", "range", "sticky"), d=_classic("d", "sticky"))

    assert group.supports_classic_protocols("consumer", ["sticky"])
    assert not group.supports_classic_protocols("consumer", ["range"])
    assert not group.supports_classic_protocols("connect", ["sticky"])
    assert group.classic_member_count == 2
    assert _group(m=MODERN).supports_classic_protocols("consumer", ["any"])
    assert _group().supports_classic_protocols("consumer", ["any"])
    assert not _group().supports_classic_protocols("consumer", [])


def test_a_member_waits_for_partitions_while_others_have_them():
    group = _group(m=replace(MODERN, state=MemberState.UNRELEASED_PARTITIONS))
    group.set_target("m", {T: frozenset({0})})
    assert not group.is_waiting_for_partitions(group.members["m"])

    group.update_member(ConsumerGroupMember(member_id="o", assigned={T: {0: 5}}, has_assignment=True))

    assert group.is_waiting_for_partitions(group.members["m"])
    assert not group.is_waiting_for_partitions(group.members["o"])
