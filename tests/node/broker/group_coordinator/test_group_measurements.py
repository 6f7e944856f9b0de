"""Groups of all shards of a broker are counted by type and state."""

from types import SimpleNamespace

from falkirk import slices
from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.offsets.offset_store import OffsetStore
from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.runtime.counters import GroupCounters
from falkirk.node.broker.coordinator_runtime.hosted_shard import HostState
from falkirk.node.broker.group_coordinator.group_measurements import measure_groups
from falkirk.slices import exhaust


def host(state, *groups, offsets=()):
    store = OffsetStore()
    for group_id, position in offsets:
        store.commit(group_id, position, b"v", log_offset=0)
    context = SimpleNamespace(groups={group.group_id: group for group in groups})
    shard = SimpleNamespace(context=context, offsets=SimpleNamespace(store=store))
    return SimpleNamespace(state=state, shard=shard if state is HostState.ACTIVE else None)


def test_groups_and_offsets_of_active_shards_are_counted_and_shards_by_state():
    offsets = [("a", b"0"), ("a", b"1"), ("b", b"0"), ("a", b"0")]
    first = host(HostState.ACTIVE, ClassicGroup("a", now_ms=0), ClassicGroup("b", now_ms=0), offsets=offsets)
    second = host(HostState.ACTIVE, ConsumerGroup("c", first_epoch=0), offsets=[("c", b"0")])
    counters = GroupCounters(offset_commits=5)
    hosts = {
        0: first,
        1: second,
        2: host(HostState.LOADING, ConsumerGroup("d", first_epoch=0)),
        3: host(HostState.FAILED),
    }
    measured = exhaust(measure_groups(SimpleNamespace(hosts=hosts, counters=counters)))
    assert measured.groups == {(GroupType.CLASSIC, "Empty"): 2, (GroupType.CONSUMER, "Empty"): 1}
    assert measured.offsets == 4
    assert measured.shards == {HostState.ACTIVE: 2, HostState.LOADING: 1, HostState.FAILED: 1}
    assert measured.counters is counters
    assert measured.count(GroupType.CLASSIC) == measured.count(GroupType.CLASSIC, "Empty", "Stable") == 2
    assert measured.count(GroupType.CLASSIC, "Stable") == measured.count(GroupType.SHARE) == 0


def test_many_groups_are_counted_in_slices(monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 10)
    hosts = {0: host(HostState.ACTIVE, *(ClassicGroup(f"g{number}", now_ms=0) for number in range(95)))}
    measuring = measure_groups(SimpleNamespace(hosts=hosts, counters=GroupCounters()))
    for _ in range(9):
        next(measuring)
    # Groups may go meanwhile.
    hosts[0].shard.context.groups.clear()
    assert exhaust(measuring).count(GroupType.CLASSIC) == 95
