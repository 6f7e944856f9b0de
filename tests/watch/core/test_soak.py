"""A day of a cluster in simulated time: outages, changes of every type, and a watch that is right at each hour."""

from collections import defaultdict
from random import Random

import pytest
from metadata_files import batch_of
from metadata_histories import HistoryMaker, values

from falkirk.versions.metadata_version import MetadataVersion
from falkirk.watch.core.cluster import ClusterState, load_ledger
from falkirk.watch.core.findings import EventKind, WayState
from falkirk.watch.core.freshness import GROUPS, METADATA, TRANSACTIONS

LEVEL = MetadataVersion.parse("4.4-IV1").level
MINUTE_MS, DAY_MINUTES, HOUR = 60_000, 24 * 60, 60
CLUSTER_ID = "yylGo1ijR1acfIGbD1wMdA"


def read_all(state, now_ms):
    for source in (METADATA, GROUPS, TRANSACTIONS):
        state.read(source, now_ms)


def closed_releases(state, now_ms):
    return {way.release for way in state.findings(now_ms).ways if way.is_lossless is False}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_day_of_changes_and_outages_ends_with_what_a_fresh_watch_finds(seed):
    random = Random(seed)
    maker = HistoryMaker(random, LEVEL)
    first = batch_of(values(maker.first_batch()), 0, "0.log")
    batches, unread = [first], []
    state = ClusterState("prod")
    state.begin(CLUSTER_ID, {})
    state.set_metadata(load_ledger(None, batches), 0)
    read_all(state, 0)
    events, outage_until, outages = [], -1, 0
    for minute in range(1, DAY_MINUTES + 1):
        now_ms = minute * MINUTE_MS
        unread.append(batch_of(values(maker.batch()), batches[-1].end_offset, "0.log"))
        batches.append(unread[-1])
        if minute > outage_until and random.random() < 0.01:
            outage_until, outages = minute + random.randint(1, 20), outages + 1
        if minute <= outage_until:
            assert {way.state for way in state.findings(now_ms).ways} == {WayState.UNKNOWN}
            continue
        state.append_metadata(unread, now_ms)
        unread = []
        read_all(state, now_ms)
        events += state.drain_events()
        if minute % (4 * HOUR) == 0:
            fresh = ClusterState("prod")
            fresh.begin(CLUSTER_ID, {})
            fresh.set_metadata(load_ledger(None, batches), now_ms)
            read_all(fresh, now_ms)
            assert state.findings(now_ms) == fresh.findings(now_ms)
    assert outages > 3
    by_release = defaultdict(list)
    for event in events:
        if event.release is not None:
            by_release[event.release].append(event.kind)
    assert len({event.key for event in events}) == len(events)
    assert by_release
    for kinds in by_release.values():
        assert kinds == [(EventKind.WAY_CLOSED, EventKind.WAY_OPENED)[number % 2] for number in range(len(kinds))]
    if outage_until < DAY_MINUTES:
        now_ms = DAY_MINUTES * MINUTE_MS
        known = {release for release, kinds in by_release.items() if kinds[-1] is EventKind.WAY_CLOSED}
        assert closed_releases(state, now_ms) == known
