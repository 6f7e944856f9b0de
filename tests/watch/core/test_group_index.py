"""Groups that are judged while their partition grows are what a load of the whole log finds."""

from random import Random

import pytest
from coordinator_logs import variants
from hypothesis import given
from hypothesis import strategies as st

from falkirk.coordinator.prediction.followed_partition import FollowedPartition
from falkirk.coordinator.prediction.groups import readable_groups
from falkirk.watch.core.targets import older_releases

RELEASES = [target.release for target in older_releases()]


def groups_of(followed):
    found, failing = {}, {}
    for judged in followed.judge():
        found[judged.group_id], failing[judged.group_id] = judged.readable, judged.failing
    return found, failing


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
def test_after_any_entries_each_group_is_judged_as_by_a_load_from_scratch(seed):
    random = Random(seed)
    for entries in variants(seed, 2):
        followed = FollowedPartition(3, RELEASES)
        groups, failing = {}, {}
        position = 0
        while position < len(entries):
            end = position + random.choice((1, 5, 40))
            for entry in entries[position:end]:
                followed.add(entry, 7)
            position = end
            changed, changed_failing = groups_of(followed)
            groups |= changed
            failing |= changed_failing
        for number, release in enumerate(RELEASES):
            scratch = readable_groups(release, {3: entries})
            late = {record.offset for record in scratch.failing if "no timeout" in record.reason}
            if late:
                continue  # see the module of FollowedPartition
            expected = {group.group_id: group for group in scratch.groups}
            assert {name: found[number] for name, found in groups.items() if found} == expected
            found = {record for records in failing.values() for record in records[number]}
            assert found == set(scratch.failing)
