"""Groups that are judged while their partition grows are what a load of the whole log finds."""

from collections import Counter
from random import Random

import pytest
from coordinator_logs import OFFSETS_TOPIC, real_partitions, variants
from data_logs import whole_batches
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import group_batches

from falkirk.coordinator.prediction.followed_partition import FollowedPartition
from falkirk.coordinator.prediction.group_losses import group_losses
from falkirk.coordinator.prediction.groups import readable_groups
from falkirk.coordinator.records.log_entry import LoggedRecord, log_entries
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.watch.core.group_index import GroupIndex
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


@pytest.mark.parametrize("release", ["4.3.1", "4.4.0"])
def test_losses_of_a_real_clusters_groups_are_those_of_a_plan_and_each_has_a_place(release):
    index = GroupIndex(older_releases())
    expected = [Counter() for _ in RELEASES]
    for number, entries in real_partitions(release, OFFSETS_TOPIC).items():
        plain = [entry for entry in entries if isinstance(entry, LoggedRecord) and entry.producer_id < 0]
        batches = [batch for data in group_batches(plain) for batch in whole_batches(data)]
        for batch in batches:
            index.add(TopicPartition(OFFSETS_TOPIC, number), [batch])
        name = f"{OFFSETS_TOPIC}-{number}"
        for target, of_target in zip(older_releases(), expected, strict=True):
            answer = readable_groups(target.release, {number: [*log_entries(batches)]})
            of_target.update((loss.kind, loss.key) for loss in group_losses(answer, name=name, source=name))
    for number, of_target in enumerate(expected):
        assert Counter((lost.loss.kind, lost.loss.key) for lost in index.losses(number)) == of_target
        assert index.has_losses(number) is bool(of_target)
        assert sum(index.counts(number).values()) == sum(of_target.values())
    assert sum(map(len, expected)) > 0
    assert sum(index.groups_by_type().values()) == len(index.group_states())
    for lost in index.losses(0):
        assert lost.place.log.startswith(OFFSETS_TOPIC)
        assert lost.place.offset >= 0
