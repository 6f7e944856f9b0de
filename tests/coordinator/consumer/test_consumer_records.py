"""Records of consumer groups, in the layout that each release has of them."""

import pytest

from falkirk.coordinator.consumer import consumer_records as records
from falkirk.coordinator.consumer.member import ConsumerGroupMember, MemberState
from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.coordinator.runtime.topics import TopicPartitionCount
from falkirk.protocol.coordinator_record import decode_key, decode_value, encode_key, encode_value, record_type
from falkirk.protocol.messages import (
    GROUP_COORDINATOR_KEYS,
    GROUP_COORDINATOR_VALUES,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
)
from falkirk.protocol.messages.consumer_group_member_metadata_value import ClassicMemberMetadata, ClassicProtocol
from falkirk.versions.message_layouts import layout_in
from falkirk.versions.release import Release

T = b"t" * 16
CLASSIC = ClassicMemberMetadata(session_timeout_ms=5, supported_protocols=[ClassicProtocol(name="range")])
MEMBER = ConsumerGroupMember(
    member_id="m",
    instance_id="i",
    client_id="c",
    client_host="/h",
    subscribed_topics=frozenset({"b", "a"}),
    subscribed_regex="x.*",
    rebalance_timeout_ms=7,
    classic_metadata=CLASSIC,
    member_epoch=4,
    previous_member_epoch=3,
    state=MemberState.UNREVOKED_PARTITIONS,
    assigned={T: {1: 2, 0: 4}},
    revoking={T: {2: 2}},
)
TARGET = {T: frozenset({0, 1, 3})}


def _all(release: Release) -> list[CoordinatorRecord]:
    return [
        records.group_epoch_record("g", 4, 9 if layout_in(release, "ConsumerGroupMetadataValue") else 0),
        records.partition_metadata_record(release, "g", 4, {"t": TopicPartitionCount(T, 3)}),
        records.member_record(release, "g", MEMBER),
        records.target_epoch_record(release, "g", 4, 77),
        records.target_assignment_record("g", "m", TARGET),
        records.current_assignment_record(release, "g", MEMBER, 5, TARGET),
        records.regex_record("g", "x.*", ["x2", "x1"], version=8, timestamp_ms=78),
    ]


@pytest.mark.parametrize("name", ["3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1", "4.2.1", "4.3.1", "4.4.0"])
def test_what_a_release_writes_it_reads(name: str):
    release = Release.parse(name)

    for record in _all(release):
        assert record.value is not None
        key, layout = encode_key(record.key), layout_in(release, record.value.SCHEMA.info.name)
        assert decode_key(GROUP_COORDINATOR_KEYS, key) == record.key
        value = encode_value(record.value, record.version, layout=layout)
        assert decode_value(GROUP_COORDINATOR_VALUES, record_type(key), value, layout=layout) == (record.value, 0)


def _read_again(name: str) -> ConsumerGroupMember:
    release = Release.parse(name)
    metadata = records.member_record(release, "g", MEMBER).value
    assignment = records.current_assignment_record(release, "g", MEMBER, 5, TARGET).value
    assert isinstance(metadata, ConsumerGroupMemberMetadataValue)
    assert isinstance(assignment, ConsumerGroupCurrentMemberAssignmentValue)
    assert metadata.subscribed_topic_names == ("a", "b")
    return ConsumerGroupMember(member_id="m").with_metadata(metadata).with_assignment(assignment)


def test_a_member_is_what_its_records_say():
    assert _read_again("4.3.1") == MEMBER


def test_before_4_3_partitions_were_had_since_the_members_epoch():
    member = _read_again("4.2.1")

    assert (member.assigned, member.revoking) == ({T: {0: 4, 1: 4}}, {T: {2: 4}})


def test_3_7_knows_no_members_of_the_classic_protocol():
    member = _read_again("3.7.2")

    assert member.classic_metadata is None
    assert member.state is MemberState.UNREVOKED_PARTITIONS


def test_each_value_has_its_tombstone():
    written = {encode_key(record.key) for record in _all(Release.parse("4.0.0"))}
    tombstones = [
        *records.member_tombstones("g", "m"),
        records.current_assignment_tombstone("g", "m"),
        records.target_assignment_tombstone("g", "m"),
        records.member_tombstone("g", "m"),
        records.target_epoch_tombstone("g"),
        records.partition_metadata_tombstone("g"),
        records.regex_tombstone("g", "x.*"),
        records.group_epoch_tombstone("g"),
    ]

    assert {encode_key(each.key) for each in tombstones} == written
    assert all(each.value is None for each in tombstones)
