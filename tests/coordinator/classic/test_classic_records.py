"""The record of a classic group, against the ones that real coordinators wrote."""

import pytest
from coordinator_logs import TARGETS

from falkirk.coordinator.classic.classic_records import (
    GROUP_METADATA_VERSION,
    group_metadata_record,
)
from falkirk.coordinator.classic.group import ClassicGroup, group_metadata_tombstone
from falkirk.protocol.messages import GroupMetadataKey, GroupMetadataValue
from falkirk.versions.release import Release


@pytest.mark.parametrize("name", TARGETS)
def test_every_release_reads_the_version_that_is_written(name: str):
    support = Release.parse(name).kraft.group_records[2]

    assert GROUP_METADATA_VERSION in support.value_versions


def test_a_group_without_members_names_neither_leader_nor_protocol():
    group = ClassicGroup("g", now_ms=5, protocol_type="consumer", generation_id=3)

    record = group_metadata_record(group)

    assert record.key == GroupMetadataKey(group="g")
    assert record.version == 3
    assert record.value == GroupMetadataValue(
        protocol_type="consumer", generation=3, protocol=None, leader=None, current_state_timestamp=5, members=[]
    )


def test_a_tombstone_has_no_value():
    assert group_metadata_tombstone("g").value is None
