"""Groups that are read from logs: those of real Kafka, and any that compaction leaves."""

import pytest
from consumer_world import ConsumerWorld
from coordinator_logs import OFFSETS_TOPIC, real_partitions
from hypothesis import given, settings
from hypothesis import strategies as st
from legal_compactions import legal_compactions

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.consumer import consumer_records
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.description import described_group
from falkirk.coordinator.consumer.member import ConsumerGroupMember, MemberState
from falkirk.coordinator.consumer.replay import CONSUMER_GROUP_KEYS, replay_record
from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord
from falkirk.coordinator.runtime.group import Group
from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.protocol.coordinator_record import decode_key, decode_value, record_type
from falkirk.protocol.messages import GROUP_COORDINATOR_KEYS, GROUP_COORDINATOR_VALUES
from falkirk.versions.message_layouts import layout_in
from falkirk.versions.release import Release, latest_release

RELEASE = latest_release()
T = b"t" * 16
MEMBER = ConsumerGroupMember(
    member_id="m", subscribed_topics=frozenset({"t"}), member_epoch=3, assigned={T: {0: 3}}, state=MemberState.STABLE
)
VALUES = [
    consumer_records.group_epoch_record("g", 3, 17),
    consumer_records.partition_metadata_record(RELEASE, "g", 3, {}),
    consumer_records.member_record(RELEASE, "g", MEMBER),
    consumer_records.target_epoch_record(RELEASE, "g", 3, 5),
    consumer_records.target_assignment_record("g", "m", {T: frozenset({0})}),
    consumer_records.current_assignment_record(RELEASE, "g", MEMBER, 3, {T: frozenset({0})}),
    consumer_records.regex_record("g", "t.*", ["t"], version=4, timestamp_ms=5),
]


def _replayed(records: list[CoordinatorRecord], groups: dict[str, Group] | None = None) -> dict[str, Group]:
    groups = {} if groups is None else groups
    for record in records:
        replay_record(groups, record.key, record.value, first_epoch=0)
    return groups


@pytest.mark.parametrize("at", range(len(VALUES)))
def test_any_value_makes_the_group_and_its_tombstone_ends_it(at: int):
    groups = _replayed([VALUES[at]])
    assert isinstance(groups["g"], ConsumerGroup)

    assert _replayed([CoordinatorRecord(VALUES[at].key)], groups) == {}


@pytest.mark.parametrize("at", range(len(VALUES)))
def test_a_tombstone_of_what_is_not_there_says_nothing(at: int):
    tombstone = CoordinatorRecord(VALUES[at].key)
    others = VALUES[:at] + VALUES[at + 1 :]

    assert _replayed([tombstone]) == {}
    assert _state(_replayed([tombstone, *others, tombstone])) == _state(_replayed(others))


@given(st.permutations(VALUES))
def test_values_make_the_same_group_in_any_order(values: list[CoordinatorRecord]):
    assert _state(_replayed(values)) == _state(_replayed(VALUES))


def test_a_partition_is_that_of_its_last_owner_though_the_one_before_did_not_give_it_back():
    # A newer record of the first, which says so, comes later: the older ones in between were compacted away.
    first = ConsumerGroupMember(member_id="a", member_epoch=1, assigned={T: {0: 1, 1: 1}})
    later = ConsumerGroupMember(member_id="a", member_epoch=3, assigned={T: {1: 1}})
    second = ConsumerGroupMember(member_id="b", member_epoch=2, assigned={T: {0: 2}})

    group = _replayed(
        [consumer_records.current_assignment_record(RELEASE, "g", each, 3, {}) for each in (first, second, later)]
    )["g"]

    assert isinstance(group, ConsumerGroup)
    assert group.owners == {T: {0: "b", 1: "a"}}


def test_an_instance_id_is_that_of_its_last_member():
    before, after = (ConsumerGroupMember(member_id=id_, instance_id="i") for id_ in "ab")
    records = [consumer_records.member_record(RELEASE, "g", each) for each in (before, after)]
    records += consumer_records.member_tombstones("g", "a")

    group = _replayed(records)["g"]

    assert isinstance(group, ConsumerGroup)
    assert group.static_members == {"i": "b"}


def test_a_value_takes_the_place_of_a_group_of_another_type_but_a_tombstone_does_not():
    classic = ClassicGroup("g", now_ms=0)

    assert _replayed([CoordinatorRecord(VALUES[0].key)], {"g": classic}) == {"g": classic}
    assert isinstance(_replayed([VALUES[0]], {"g": classic})["g"], ConsumerGroup)


# As kafka-consumer-groups.sh --describe --state showed them: state, assignor, members.
REAL_GROUPS = {
    "kg-1": ("Stable", "uniform", 3),
    "kg-empty-1": ("Empty", "uniform", 0),
    "kg-jregex-1": ("Stable", "uniform", 1),
    "kg-range-1": ("Stable", "range", 1),
    "kg-regex-1": ("Stable", "uniform", 2),
    "kg-staticleft-1": ("Reconciling", "uniform", 1),
    "mig-up-1": ("Stable", "uniform", 2),
}


@pytest.mark.parametrize("release", ["4.0.0", "4.3.1", "4.4.0"])
def test_groups_of_real_kafka_are_what_its_tools_showed(release: str):
    groups: dict[str, Group] = {}
    for entries in real_partitions(release, OFFSETS_TOPIC).values():
        _replay_entries(groups, entries, release)

    services = ConsumerWorld().protocol.services
    described = [described_group(services, group) for group in groups.values() if isinstance(group, ConsumerGroup)]
    assert {
        each.group_id: (each.group_state, each.assignor_name, len(each.members)) for each in described
    } == REAL_GROUPS


@settings(max_examples=10)
@given(data=st.data())
@pytest.mark.parametrize("release", ["4.0.0", "4.3.1", "4.4.0"])
def test_whatever_compaction_leaves_of_a_log_of_real_kafka_makes_the_same_groups(release: str, data: st.DataObject):
    partitions = real_partitions(release, OFFSETS_TOPIC)
    entries = data.draw(st.sampled_from([each for _, each in sorted(partitions.items())]))
    whole: dict[str, Group] = {}
    left: dict[str, Group] = {}
    _replay_entries(whole, entries, release)

    _replay_entries(left, data.draw(legal_compactions(entries)), release)

    assert _state(left) == _state(whole)


def _replay_entries(groups: dict[str, Group], entries: list[LogEntry], release: str) -> None:
    for entry in entries:
        if not isinstance(entry, LoggedRecord) or entry.key is None:
            continue
        type_ = record_type(entry.key)
        if type_ not in {3, 4, 5, 6, 7, 8, 16}:
            continue
        key = decode_key(GROUP_COORDINATOR_KEYS, entry.key)
        assert isinstance(key, CONSUMER_GROUP_KEYS)
        value = None
        if entry.value is not None:
            layout = layout_in(Release.parse(release), GROUP_COORDINATOR_VALUES[type_])
            value, _ = decode_value(GROUP_COORDINATOR_VALUES, type_, entry.value, layout=layout)
        replay_record(groups, key, value, first_epoch=0)


def _state(groups: dict[str, Group]) -> dict[str, dict[str, object]]:
    return {group_id: {**vars(group)} for group_id, group in groups.items()}
