import pytest
from coordinator_logs import OFFSETS_TOPIC, real_partitions

from falkirk.coordinator.prediction.group_survey import key_type
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.coordinator.records.record_type import GroupRecordType
from falkirk.coordinator.records.written_records import is_written

ALL = {"metadata.version": 33, "group.version": 1, "share.version": 1, "streams.version": 1}


def written(levels):
    return {type_.value for type_ in GroupRecordType if is_written(type_, levels)}


def test_without_features_only_the_classic_protocol_is_written():
    assert written({}) == written({"metadata.version": 33, "group.version": 0}) == {1, 2}


def test_each_kind_of_group_needs_its_feature():
    assert written({"group.version": 1, "metadata.version": 33}) == {1, 2, 3, 5, 6, 7, 8, 16}
    assert written({"share.version": 2}) == {1, 2, 10, 11, 12, 13, 14, 15}
    assert written({"streams.version": 1}) == {1, 2, 17, 19, 20, 21, 22, 23}


def test_topics_of_a_group_are_written_until_their_hash_takes_their_place():
    assert is_written(4, {"group.version": 1, "metadata.version": 25})
    assert not is_written(4, {"group.version": 1, "metadata.version": 26})
    assert not is_written(4, {"metadata.version": 25})


def test_types_that_ended_are_never_written():
    assert {type_.value for type_ in GroupRecordType} - written(ALL | {"metadata.version": 25}) == {0, 9}


# What the clusters were formatted with: 3.9 had consumer groups as an early access, 4.0 had not share groups.
@pytest.mark.parametrize(
    ("release", "levels"),
    [
        ("3.7.2", {"metadata.version": 19}),
        ("4.0.0", {"metadata.version": 25, "group.version": 1}),
        ("4.3.1", ALL | {"metadata.version": 30}),
        ("4.4.0", ALL),
    ],
)
def test_whatever_real_clusters_wrote_at_their_levels_is_written(release, levels):
    records = [entry for entries in real_partitions(release, OFFSETS_TOPIC).values() for entry in entries]
    types = {key_type(each.key) for each in records if isinstance(each, LoggedRecord) and each.value is not None}
    assert len(types) >= 2
    assert {type_ for type_ in types if not is_written(type_, levels)} == set()
