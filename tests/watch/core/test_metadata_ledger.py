"""What is kept while the log grows is what the assessment of the whole image finds."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_files import batch_of
from metadata_histories import HistoryMaker, values

from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.levels.minimum_version import minimum_version
from falkirk.metadata.levels.writer import WriterOptions, assess, write_values
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.metadata.records.record_reader import read_record
from falkirk.protocol.messages import (
    AccessControlEntryRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.metadata_version import METADATA_VERSIONS, MetadataVersion
from falkirk.watch.core.metadata_ledger import MetadataLedger, Snapshot
from falkirk.watch.core.targets import older_releases

TARGETS = older_releases()
LEVEL = MetadataVersion.parse("4.4-IV1").level
MOVES = [version.level for version in METADATA_VERSIONS if version >= MetadataVersion.parse("3.7-IV0")]
TOPIC = b"t" * 16


def found(ledger, rules):
    return Counter(
        (rule.kind, key.text(entry.topic_name), rule.detail.replace("{key}", key.text(entry.topic_name)))
        for index in rules
        for rule in [ledger.index.rule(index)]
        for key, entry in ledger.index.entries(index)
        for _ in range(entry.times)
    )


def assessed(losses):
    return Counter((loss.kind, loss.key_text, loss.detail) for loss in losses)


def check_against_assessment(ledger):
    image = ledger.image
    for index, target in enumerate(TARGETS):
        options = WriterOptions(metadata_version=target.metadata_version, release=target.release)
        report, rules = assess(image, options), ledger.index.rules_of(index)
        assert found(ledger, rules.lost) == assessed(report.losses)
        assert found(ledger, rules.inaccessible) == assessed(report.inaccessible)
        assert list(rules.dropped_features) == [loss.detail for loss in report.dropped_features]
        assert sum(ledger.index.counts(rules.lost).values()) == len(report.losses)
    lowest, forced_by = ledger.index.lowest_level(image)
    scratch = minimum_version(image)
    assert lowest == scratch.version
    assert sum(forced_by.values()) == scratch.because_count
    lacking = {
        (topic.name, number)
        for topic in image.topics
        for number, partition in topic.items()
        if len(partition.isr) < len(partition.replicas)
    }
    assert {(each.partition.topic, each.partition.partition) for each in ledger.index.lacking.values()} == lacking


def history(seed, steps):
    maker = HistoryMaker(Random(seed), LEVEL, moves=MOVES)
    offset, batches = 0, []
    for step in range(steps):
        batch = batch_of(values(maker.first_batch() if step == 0 else maker.batch()), offset, "0.log")
        offset = batch.end_offset
        batches.append(batch)
    return batches


def scratch(snapshot, batches):
    ledger = MetadataLedger(TARGETS)
    ledger.load(snapshot, batches)
    return ledger


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), cut=st.integers(0, 60))
def test_after_any_changes_the_result_is_that_of_the_assessment_from_scratch(seed, cut):
    batches = history(seed, 60)
    ledger = scratch(None, batches[:cut])
    for number, batch in enumerate(batches[cut:], cut):
        ledger.append(batch)
        if number % 7 == 0:
            check_against_assessment(ledger)
    check_against_assessment(ledger)

    at_once = scratch(None, batches)
    check_against_assessment(at_once)
    assert dict(at_once.index.places()) == dict(ledger.index.places())


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), cut=st.integers(1, 39))
def test_a_snapshot_that_replaces_the_log_leads_to_the_same(seed, cut):
    batches = history(seed, 40)
    ahead = MetadataLoader()
    ahead.load_log(batches)
    image = ahead.image
    level = image.features.metadata_version
    records = list(write_values(image, WriterOptions(metadata_version=level)))
    snapshot = Snapshot(
        (MetadataBatch(base_offset=0, end_offset=len(records), epoch=1, timestamp=5, values=records),),
        Provenance(batches[-1].end_offset, 1, 5),
    )
    ledger = scratch(None, batches[:cut])
    ledger.replace(snapshot)
    check_against_assessment(ledger)
    fresh = scratch(snapshot, [])
    check_against_assessment(fresh)
    assert {place.offset for _, place in fresh.index.places()} <= {None}


def log(*batches):
    offset, found_batches = 0, []
    for records in batches:
        made = batch_of([encode_metadata_record(*record) for record in records], offset, "0.log")
        found_batches.append(made)
        offset = made.end_offset
    return found_batches


def acl(name, host="10.0.0.0/8"):
    return (
        AccessControlEntryRecord(
            id=name.encode().ljust(16, b"\0"),
            resource_type=2,
            resource_name=name,
            pattern_type=3,
            principal="User:a",
            host=host,
            operation=3,
            permission_type=3,
        ),
        0,
    )


def place_of(ledger, kind):
    return [
        (key.text(entry.topic_name), entry.place.offset, entry.place.timestamp_ms, entry.place.record)
        for rule in range(len(ledger.index._rules))
        if ledger.index.rule(rule).kind == kind
        for key, entry in ledger.index.entries(rule)
    ]


def test_a_loss_has_the_place_of_the_record_that_brought_it_however_often_it_is_written_again():
    batches = log(
        [(FeatureLevelRecord("metadata.version", LEVEL), 0)],
        [(TopicRecord("orders", TOPIC), 0), (PartitionRecord(0, TOPIC, replicas=(1, 2), isr=(1, 2), leader=1), 0)],
        [(PartitionChangeRecord(0, TOPIC, isr=(1,), eligible_leader_replicas=(2,)), 2)],
        [(PartitionChangeRecord(0, TOPIC, leader=1, eligible_leader_replicas=(2,)), 2)],
        [acl("first", host="h"), acl("second")],
    )
    for ledger in (scratch(None, batches), scratch(None, [])):
        if not ledger.end_offset:
            for batch in batches:
                ledger.append(batch)
        assert place_of(ledger, "eligible_leader_replicas") == [
            ("topic orders partition 0", 3, batches[2].timestamp, "PartitionChangeRecord")
        ]
        [(_, offset, _, _)] = place_of(ledger, "cidr_allow_acl")
        assert offset == 6


def test_what_is_undone_is_no_loss_any_more_and_a_new_one_has_a_new_place():
    batches = log(
        [(FeatureLevelRecord("metadata.version", LEVEL), 0)],
        [acl("a")],
        [(RemoveAccessControlEntryRecord(b"a".ljust(16, b"\0")), 0)],
        [acl("a")],
    )
    ledger = scratch(None, batches[:2])
    assert [offset for _, offset, _, _ in place_of(ledger, "cidr_allow_acl")] == [1]
    ledger.append(batches[2])
    assert place_of(ledger, "cidr_allow_acl") == []
    ledger.append(batches[3])
    assert [offset for _, offset, _, _ in place_of(ledger, "cidr_allow_acl")] == [3]
    assert [offset for _, offset, _, _ in place_of(scratch(None, batches), "cidr_allow_acl")] == [3]


def test_a_change_reads_what_it_touches_and_nothing_else(monkeypatch):
    """Counted: the number of objects that rules are applied to does not depend on the cluster's size."""
    judged = []
    for partitions in (10, 1000):
        topic = [(TopicRecord("orders", TOPIC), 0)]
        topic += [
            (PartitionRecord(number, TOPIC, replicas=(1, 2), isr=(1, 2), leader=1), 0) for number in range(partitions)
        ]
        first = [(FeatureLevelRecord("metadata.version", LEVEL), 0), (RegisterBrokerRecord(broker_id=1), 0), *topic]
        batches = log(first, [(PartitionChangeRecord(0, TOPIC, isr=(1,), eligible_leader_replicas=(2,)), 2)])
        ledger = scratch(None, batches[:1])
        before, counted = ledger.index._any["PartitionRecord"], []

        def count(row, context, before=before, counted=counted):
            counted.append(row)
            return before(row, context)

        ledger.index._any["PartitionRecord"] = count
        ledger.append(batches[1])
        judged.append(len(counted))
    assert judged[0] == judged[1] <= 3


def test_a_removed_topic_takes_its_losses_along():
    batches = log(
        [(FeatureLevelRecord("metadata.version", LEVEL), 0)],
        [(TopicRecord("orders", TOPIC), 0), (PartitionRecord(0, TOPIC, replicas=(1, 2), isr=(1,), leader=1), 0)],
        [(PartitionChangeRecord(0, TOPIC, eligible_leader_replicas=(2,)), 2)],
        [(RemoveTopicRecord(TOPIC), 0)],
    )
    ledger = scratch(None, batches[:3])
    assert ledger.index.lacking
    assert place_of(ledger, "eligible_leader_replicas")
    ledger.append(batches[3])
    assert not ledger.index.lacking
    assert not place_of(ledger, "eligible_leader_replicas")
    assert read_record(batches[3].values[0]) == RemoveTopicRecord(TOPIC)
