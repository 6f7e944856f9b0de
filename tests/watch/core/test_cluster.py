"""What a watch concludes from what it has read, and what it calls unknown."""

from datetime import UTC, datetime

import pytest
from metadata_files import batch_of

from falkirk.client.cluster_description import ClusterNode
from falkirk.client.errors import ConnectionFailedError
from falkirk.client.node_versions import FinalizedVersionRange, NodeVersions
from falkirk.client.quorum_description import QuorumDescription, ReplicaState
from falkirk.ledger.findings import BlockerKind
from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.metadata.records.errors import RecordError
from falkirk.operations.lift_observation import Observation
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import (
    AccessControlEntryRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    TopicRecord,
)
from falkirk.protocol.messages.register_broker_record import BrokerFeature
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.supported_range import SupportedRange
from falkirk.watch.core.cluster import ClusterState, load_ledger
from falkirk.watch.core.findings import DriftKind, EventKind, WayState
from falkirk.watch.core.freshness import GROUPS, METADATA, TRANSACTIONS
from falkirk.watch.core.metadata_ledger import Snapshot
from falkirk.watch.core.transitions import KnownWay

LEVEL = MetadataVersion.parse("4.4-IV1").level
TOPIC = b"t" * 16
NOW = int(datetime(2026, 11, 24, tzinfo=UTC).timestamp() * 1000)
CLUSTER_ID = "yylGo1ijR1acfIGbD1wMdA"


class World:
    """A cluster of which batches are read one after the other."""

    def __init__(self, known=None, level=LEVEL):
        self.state = ClusterState("prod")
        self.state.begin(CLUSTER_ID, known or {})
        self.offset = 0
        features = [BrokerFeature("metadata.version", 1, LEVEL)]
        first = [
            (FeatureLevelRecord("metadata.version", level), 0),
            (RegisterBrokerRecord(broker_id=1, broker_epoch=1, features=features), 1),
        ]
        self.state.set_metadata(load_ledger(None, [self.batch(*first)]), NOW)
        self.read_all(NOW)

    def batch(self, *records):
        made = batch_of([encode_metadata_record(*record) for record in records], self.offset, "0.log")
        self.offset = made.end_offset
        return made

    def append(self, *records, now_ms=NOW):
        self.state.append_metadata([self.batch(*records)], now_ms)
        self.state.read(METADATA, now_ms)
        return self.events()

    def events(self):
        return [(event.kind, event.release) for event in self.state.drain_events()]

    def read_all(self, now_ms, answers=None, epoch=None, quorum=None):
        for source in (METADATA, GROUPS, TRANSACTIONS):
            self.state.read(source, now_ms)
        versions = NodeVersions(
            api_ranges={},
            supported_features={"metadata.version": SupportedRange(1, LEVEL)},
            finalized_features={"metadata.version": FinalizedVersionRange(LEVEL, LEVEL)},
            finalized_features_epoch=epoch,
        )
        node = ClusterNode(node_id=1, endpoint=Endpoint("h", 9092))
        observation = Observation(
            cluster_id=CLUSTER_ID, bootstrap=(), brokers=(node,), answers=answers or {1: versions}, quorum=quorum
        )
        self.state.observe(observation, now_ms)

    def states(self, now_ms=NOW):
        return {way.release: way.state for way in self.state.findings(now_ms).ways}


def acl(name="a", host="10.0.0.0/8"):
    entry = AccessControlEntryRecord(
        id=name.encode().ljust(16, b"\0"),
        resource_type=2,
        resource_name=name,
        pattern_type=3,
        principal="User:a",
        host=host,
        operation=3,
        permission_type=3,
    )
    return (entry, 0)


def test_a_range_in_an_acl_closes_every_way_at_its_record_and_its_removal_opens_them():
    world = World()
    assert set(world.states().values()) == {WayState.OPEN}
    assert world.events() == []

    offset = world.offset
    closed = world.append(acl())
    assert closed == [(EventKind.WAY_CLOSED, way.release) for way in world.state.findings(NOW).ways]
    for way in world.state.findings(NOW).ways:
        assert way.state is WayState.CLOSED
        assert way.losses == {"cidr_allow_acl": 1}
        assert way.point_of_no_return.place.offset == offset
        assert way.point_of_no_return.place.record == "AccessControlEntryRecord"

    opened = world.append((RemoveAccessControlEntryRecord(b"a".ljust(16, b"\0")), 0))
    assert opened == [(EventKind.WAY_OPENED, way.release) for way in world.state.findings(NOW).ways]


def test_a_loss_of_one_level_closes_the_ways_below_it_alone():
    world = World()
    world.append((TopicRecord("t", TOPIC), 0), (PartitionRecord(0, TOPIC, replicas=(1, 2), isr=(1, 2), leader=1), 0))
    closed = world.append((PartitionChangeRecord(0, TOPIC, isr=(1,), eligible_leader_replicas=(2,)), 2))
    assert {release for kind, release in closed if kind is EventKind.WAY_CLOSED} >= {"3.7", "3.8", "3.9"}
    blockers = {way.release: {blocker.kind for blocker in way.blockers} for way in world.state.findings(NOW).ways}
    assert blockers["3.9"] == {BlockerKind.BELOW_FULL_ISR}


def test_what_was_not_read_for_long_is_not_known():
    world = World()
    world.append(acl())
    later = NOW + 16_000
    assert set(world.states(later).values()) == {WayState.UNKNOWN}
    assert world.state.findings(later).ways[0].unknown

    world.state.read(METADATA, later)
    assert set(world.states(later).values()) == {WayState.CLOSED}, "metadata alone says that something would be lost"

    world.append((RemoveAccessControlEntryRecord(b"a".ljust(16, b"\0")), 0), now_ms=later)
    assert set(world.states(later).values()) == {WayState.UNKNOWN}, "groups are not fresh, and may lose something"
    world.state.read(GROUPS, later)
    assert set(world.states(later).values()) == {WayState.UNKNOWN}, "nodes are not fresh, and may be in the way"
    world.read_all(later)
    assert set(world.states(later).values()) == {WayState.OPEN}


def test_a_clock_that_is_set_back_makes_nothing_fresh():
    world = World()
    assert set(world.states(NOW - 3_600_000).values()) == {WayState.UNKNOWN}


def test_a_source_that_was_never_read_is_named_with_the_right_that_is_missing():
    state = ClusterState("prod")
    state.begin(CLUSTER_ID, {})
    state.failed(METADATA, "refused", "CLUSTER_ACTION on CLUSTER kafka-cluster for User:w, at the controllers")
    findings = state.findings(NOW)
    assert {way.state for way in findings.ways} == {WayState.UNKNOWN}
    [metadata] = [source for source in findings.sources if source.name == METADATA]
    assert metadata.needs.startswith("CLUSTER_ACTION")
    assert any("CLUSTER_ACTION" in reason for reason in findings.ways[0].unknown)


def test_what_the_journal_knows_already_is_no_event():
    known = {way: KnownWay(is_closed=True) for way in ("3.7", "3.8", "3.9")}
    world = World(known)
    assert world.events() == [(EventKind.WAY_OPENED, release) for release in known]
    assert [release for kind, release in world.append(acl()) if kind is EventKind.WAY_CLOSED][:3] == list(known)


def test_an_event_has_the_same_key_whenever_its_batch_is_read():
    keys = []
    for _ in range(2):
        world = World()
        world.state.append_metadata([world.batch(acl())], NOW)
        keys.append([event.key for event in world.state.drain_events()])
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == len(keys[0])


def test_a_silent_node_blocks_and_one_that_answers_again_unblocks():
    world = World()
    world.read_all(NOW, answers={1: ConnectionFailedError(Endpoint("h", 9092), "connection refused")})
    assert set(world.states().values()) == {WayState.BLOCKED}
    assert {kind for kind, _ in world.events()} == {EventKind.WAY_BLOCKED}
    assert DriftKind.SILENT_NODE in {drift.kind for drift in world.state.findings(NOW).drift}
    world.read_all(NOW)
    assert {kind for kind, _ in world.events()} == {EventKind.WAY_UNBLOCKED}


def test_a_node_that_has_not_applied_what_was_written_half_a_minute_ago_is_stale():
    world = World()
    world.append(acl())
    later = NOW + 40_000
    world.state.append_metadata([world.batch(acl("b"))], later)
    world.read_all(later, epoch=world.offset - 1)
    assert world.state.findings(later).drift == ()
    world.read_all(later, epoch=0)
    [drift] = world.state.findings(later).drift
    assert drift.kind is DriftKind.STALE_EPOCH


def test_a_replica_lags_if_what_it_fetched_last_is_old_whatever_the_leader_remembers_of_the_one_before():
    def replica(node_id, caught_up_ms, directory_id=bytes(16)):
        return ReplicaState(
            node_id=node_id,
            directory_id=directory_id,
            log_end_offset=2,
            last_fetch_timestamp=caught_up_ms,
            last_caught_up_timestamp=caught_up_ms,
        )

    def quorum(*observers):
        return QuorumDescription(
            leader_id=1,
            leader_epoch=1,
            high_watermark=2,
            voter_states=(replica(1, NOW),),
            observer_states=observers,
            voter_listeners={},
        )

    world = World()
    gone = replica(2, NOW - 60_000, b"d" * 16)
    world.read_all(NOW, quorum=quorum(replica(2, NOW), gone))
    assert world.state.findings(NOW).drift == ()
    world.read_all(NOW, quorum=quorum(gone))
    [drift] = world.state.findings(NOW).drift
    assert (drift.kind, drift.node_id) == (DriftKind.LAGGING_REPLICA, 2)


def test_a_clock_that_differs_is_said():
    world = World()
    world.state.note_clock(NOW + 120_000, NOW)
    [drift] = world.state.findings(NOW).drift
    assert drift.kind is DriftKind.CLOCK_DIFFERS
    assert "120 s ahead of" in drift.text


def test_a_higher_level_that_all_nodes_support_and_that_is_not_finalized_is_found():
    world = World(level=MetadataVersion.parse("4.0-IV3").level)
    [feature] = [each for each in world.state.findings(NOW).features if each.feature == "metadata.version"]
    assert feature.can_rise_to == LEVEL
    states = world.states()
    assert states["4.0"] is WayState.NOT_BELOW
    assert states["3.9"] is WayState.OPEN


def test_a_raised_level_is_an_event_with_both():
    world = World(level=MetadataVersion.parse("4.0-IV3").level)
    world.state.append_metadata([world.batch((FeatureLevelRecord("metadata.version", LEVEL), 0))], NOW)
    [event] = world.state.drain_events()
    assert (event.kind, event.fields) == (EventKind.LEVEL_CHANGED, {"from": "4.0-IV3", "to": "4.4-IV1"})


def test_another_cluster_begins_with_nothing_known():
    world = World()
    world.append(acl())
    world.state.begin("another-cluster-000000", {})
    assert set(world.states().values()) == {WayState.UNKNOWN}
    assert world.state.findings(NOW).losses == ()


def test_a_record_that_cannot_be_read_leaves_what_was_read_and_time_makes_it_unknown():
    world = World()
    broken = MetadataBatch(
        base_offset=world.offset, end_offset=world.offset + 1, epoch=1, timestamp=NOW, values=(b"\x01\x63\x00",)
    )
    before = world.state.end_offset
    with pytest.raises(RecordError):
        world.state.append_metadata([broken], NOW)
    assert world.state.end_offset == before
    world.state.failed(METADATA, "unreadable")
    assert set(world.states().values()) == {WayState.OPEN}
    assert set(world.states(NOW + 16_000).values()) == {WayState.UNKNOWN}


def test_what_no_record_did_is_another_event_each_time():
    closed = {release: KnownWay(is_closed=True) for release in World().states()}
    keys = set()
    for now_ms in (NOW, NOW + 60_000):
        state = ClusterState("prod")
        state.begin(CLUSTER_ID, closed)
        level = encode_metadata_record(FeatureLevelRecord("metadata.version", LEVEL), 0)
        state.set_metadata(load_ledger(None, [batch_of([level], 0, "0.log")]), now_ms)
        state.read(GROUPS, now_ms)
        keys |= {event.key for event in state.drain_events()}
    assert len(keys) == 2 * len(closed)


def test_a_level_that_a_snapshot_lowers_is_an_event():
    world = World()
    lowered = MetadataVersion.parse("3.9-IV0")
    level = encode_metadata_record(FeatureLevelRecord("metadata.version", lowered.level), 0)
    end = world.offset + 100
    world.state.replace_metadata(Snapshot((batch_of([level], 0, "s"),), Provenance(end, 2, NOW - 5)), NOW)
    [event] = world.state.drain_events()
    assert (event.kind, event.fields) == (EventKind.LEVEL_CHANGED, {"from": "4.4-IV1", "to": "3.9-IV0"})
    assert event.at_ms == NOW - 5
    assert world.states()["3.9"] is WayState.NOT_BELOW


def test_a_way_that_closes_again_after_the_level_was_down_is_news():
    world = World()
    low, high = ((FeatureLevelRecord("metadata.version", level), 0) for level in (21, LEVEL))
    assert (EventKind.WAY_CLOSED, "3.9") in world.append(acl())
    world.append((RemoveAccessControlEntryRecord(b"a".ljust(16, b"\0")), 0), low)
    world.append(high)
    assert (EventKind.WAY_CLOSED, "3.9") in world.append(acl())
    world.append(low)
    assert (EventKind.WAY_CLOSED, "3.9") in world.append(high)
